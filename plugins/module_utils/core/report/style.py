# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How the report's page looks: calm, readable in light and dark and on paper, without a single outside file."""

from __future__ import annotations

STYLE = """
:root{color-scheme:light dark;--bg:#f6f7f9;--card:#fff;--ink:#18212c;--soft:#556170;--line:#dde2e8;--code:#f1f3f6;
--accent:#0b655d;--pass:#17703f;--pass-bg:#e9f6ee;--warn:#855300;--warn-bg:#fff5e0;--unknown:#5a4796;
--unknown-bg:#f1edfb; --fail:#ac221b;--fail-bg:#fdeceb;--radius:10px;--mono:ui-monospace,SFMono-Regular,Menlo,
Consolas,"DejaVu Sans Mono",monospace}
@media (prefers-color-scheme:dark){:root{--bg:#0f1419;--card:#161d25;--ink:#e6ecf2;--soft:#a2afbd;--line:#29333f;
--code:#1d2630;--accent:#62cbbd;--pass:#63d297;--pass-bg:#12291d;--warn:#e9b85a;--warn-bg:#2c2310;--unknown:#bcabf3;
--unknown-bg:#221d36;--fail:#ff9189;--fail-bg:#331a19}}
*{box-sizing:border-box}
html{scroll-behavior:smooth;-webkit-text-size-adjust:100%}
@media (prefers-reduced-motion:reduce){html{scroll-behavior:auto}}
body{margin:0;background:var(--bg);color:var(--ink);font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,
"Noto Sans", "DejaVu Sans",sans-serif;overflow-wrap:anywhere}
.page{max-width:1040px;margin:0 auto;padding:40px 24px 64px}
a{color:var(--accent);text-underline-offset:2px}
a:focus-visible,summary:focus-visible,[tabindex]:focus-visible{outline:2px solid var(--accent);outline-offset:3px;
border-radius:4px}
.skip{position:absolute;left:-999px}
.skip:focus{left:16px;top:12px}
h1{font-size:2.1rem;line-height:1.15;margin:0;letter-spacing:-.015em}
h2{font-size:1.22rem;margin:0 0 14px;letter-spacing:-.005em}
h3{font-size:1rem;margin:18px 0 8px}
p{margin:0 0 10px}
.kicker{color:var(--soft);font-size:.95rem;margin:0 0 6px}
.verdict{display:flex;flex-wrap:wrap;align-items:center;gap:6px 14px;margin:20px 0 0;padding:16px 20px;
border-radius:var(--radius);border:1px solid;font-size:1.05rem}
.verdict strong{font-size:1.28rem;letter-spacing:-.005em}
.verdict .counts{color:var(--ink);font-size:.95rem;margin-left:auto}
.mark{display:inline-grid;place-items:center;width:1.6em;height:1.6em;border-radius:50%;font-weight:700;flex:none;
color:var(--card)}
.pass{--c:var(--pass);--b:var(--pass-bg)}
.warn{--c:var(--warn);--b:var(--warn-bg)}
.unknown{--c:var(--unknown);--b:var(--unknown-bg)}
.fail{--c:var(--fail);--b:var(--fail-bg)}
.verdict{color:var(--c);background:var(--b);border-color:color-mix(in srgb,var(--c) 35%,transparent)}
.mark{background:var(--c)}
dl.facts{display:grid;grid-template-columns:repeat(auto-fill,minmax(134px,1fr));gap:14px 24px;margin:22px 0 0}
dl.facts dt{color:var(--soft);font-size:.85rem}
dl.facts dd{margin:0;font-weight:550}
nav{margin:26px 0 0;padding:0;font-size:.94rem}
nav ul{display:flex;flex-wrap:wrap;gap:6px 18px;list-style:none;margin:0;padding:0}
section{background:var(--card);border:1px solid var(--line);border-radius:var(--radius);padding:22px 24px;
margin-top:22px; scroll-margin-top:16px}
.soft,.none{color:var(--soft)}
.none{margin:0}
.tag{display:inline-block;min-width:4.6em;text-align:center;font-size:.78rem;font-weight:650;letter-spacing:.02em;
color:var(--c);background:var(--b);border:1px solid color-mix(in srgb,var(--c) 40%,transparent);border-radius:99px;
padding:1px 10px;white-space:nowrap}
.finding{border-left:4px solid var(--c);padding:2px 0 2px 16px;margin:0 0 20px;break-inside:avoid}
.finding:last-of-type{margin-bottom:4px}
.finding h3{display:flex;flex-wrap:wrap;align-items:center;gap:4px 10px;margin:0 0 6px}
.finding p{margin:0 0 6px}
.remedy b{font-weight:600}
code,pre,.mono{font-family:var(--mono);font-size:.86em}
h3 code{font-weight:400;color:var(--soft)}
pre{background:var(--code);border-radius:8px;padding:10px 14px;margin:8px 0;overflow-x:auto;white-space:pre-wrap;
line-height:1.5}
.scroll{overflow-x:auto;margin:0 -4px;padding:0 4px}
table{border-collapse:collapse;width:100%;font-size:.93rem}
caption{text-align:left;font-weight:600;padding:4px 0 8px}
th,td{text-align:left;vertical-align:top;padding:9px 18px 9px 0;border-top:1px solid var(--line)}
thead th{border-top:0;color:var(--soft);font-weight:550;font-size:.85rem;white-space:nowrap}
td:last-child,th:last-child{padding-right:0}
td{overflow-wrap:break-word}
td code{overflow-wrap:anywhere}
.num{font-variant-numeric:tabular-nums;white-space:nowrap}
.right{text-align:right}
.keep,.keep code,td code.keep{white-space:nowrap}
.wide{grid-column:span 2}
.row{grid-column:1/-1}
.lead{flex-basis:100%;margin:2px 0 0;color:var(--ink);font-size:.97rem}
table+h3,table+table,.scroll+.scroll,.scroll+h3,.picture+.scroll,ul+.scroll{margin-top:24px}
details{border-top:1px solid var(--line);margin-top:16px;padding-top:12px}
details:first-child{border-top:0;margin-top:0;padding-top:0}
summary{cursor:pointer;font-weight:550}
details[open]>summary{margin-bottom:10px}
.picture{margin:14px 0 4px;overflow-x:auto}
.picture svg{display:block;min-width:640px}
.timeline{list-style:none;margin:0;padding:0}
.timeline li{display:grid;grid-template-columns:minmax(150px,1.1fr) 172px minmax(120px,2fr) 104px;gap:0 16px;
align-items:center; padding:8px 0;border-top:1px solid var(--line)}
.timeline li:first-child{border-top:0}
.timeline .track{height:10px;border-radius:5px;background:var(--code);position:relative}
.timeline .track i{position:absolute;top:0;bottom:0;left:var(--at);width:var(--for);min-width:4px;border-radius:5px;
background:var(--accent)}
.talk{display:grid;gap:10px;margin:14px 0 16px}
.talk div{padding:10px 16px;border-radius:14px;background:var(--code);max-width:86%;white-space:pre-wrap}
.talk .answer{justify-self:end;background:var(--b);border:1px solid color-mix(in srgb,var(--c) 25%,transparent)}
.talk small{display:block;color:var(--soft);font-size:.8rem;margin-bottom:2px}
footer{color:var(--soft);font-size:.87rem;margin-top:28px}
@media (max-width:640px){
table{min-width:600px}.page{padding:24px 14px 48px}section{padding:18px 16px}h1{font-size:1.7rem}
.verdict .counts{margin-left:0;flex-basis:100%}.timeline li{grid-template-columns:1fr auto}
.timeline .track{grid-column:1/-1; margin-top:6px}.timeline .num:nth-child(4){display:none}}
@media print{:root{--bg:#fff;--card:#fff;--ink:#000;--soft:#444;--line:#bbb;--code:#f3f3f3}body{font-size:10.5pt}
.page{max-width:none;padding:0}nav,.skip{display:none}section{border:0;padding:0;margin-top:20pt}
details::details-content{content-visibility:visible;block-size:auto;opacity:1}tr,.finding,
.timeline li{break-inside:avoid} h2,h3{break-after:avoid}a{color:inherit;text-decoration:none}
*{print-color-adjust:exact;-webkit-print-color-adjust:exact}}
""".strip()
