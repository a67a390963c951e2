# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether pods fit on a cluster, as kube-scheduler 1.34 to 1.36 would see it, and why not.

``judge.judge_fit`` is the way in. Nothing is imported here: who draws a picture or triages pods needs a few parts, and
a module carries and compiles whatever it imports, in every task.
"""
