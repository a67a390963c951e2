# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes a model folder small enough for a test: a tokenizer trained on the spot and a configuration, no weights.

Run as a program in an environment that has the ``tokenizers`` library: ``tiny_model.py FOLDER``.
"""

from __future__ import annotations

import itertools
import json
import sys
from pathlib import Path

# A few sentences are enough: byte-level merges make any text encodable.
CORPUS = (
    "Simply output the phrase: NVIDIA Dynamo",
    "A small model answers a short question, to show that requests reach a worker and come back.",
    "user: hello  assistant: hello, how can I help you today?",
    "0123456789 the quick brown fox jumps over the lazy dog",
)
SPECIAL = ("<|end|>", "<|user|>", "<|assistant|>", "<|system|>")
CHAT_TEMPLATE = (
    "{% for message in messages %}<|{{ message['role'] }}|>{{ message['content'] }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
CONTEXT = 2048
VOCABULARY = 4096
SYLLABLE_ENDS = [f"{a}{b}" for a in "bdfgklmnrs" for b in ("a", "e", "i", "o", "u", "")]


def write_model(folder: Path) -> None:
    """Write config.json, generation_config.json, tokenizer_config.json and tokenizer.json."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=512, special_tokens=list(SPECIAL), initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(CORPUS, trainer)
    # The mocker draws any token number below VOCABULARY: each must mean some text.
    syllables = (f" {a}{b}{c}" for a in "bdfgklmnprstvz" for b in "aeiou" for c in SYLLABLE_ENDS)
    tokenizer.add_tokens(list(itertools.islice(syllables, VOCABULARY - tokenizer.get_vocab_size())))
    tokenizer.save(str(folder / "tokenizer.json"))
    end = tokenizer.token_to_id(SPECIAL[0])
    documents = {
        "config.json": {
            "architectures": ["LlamaForCausalLM"],
            "model_type": "llama",
            "hidden_size": 64,
            "intermediate_size": 128,
            "num_attention_heads": 4,
            "num_key_value_heads": 4,
            "num_hidden_layers": 2,
            "max_position_embeddings": CONTEXT,
            "vocab_size": tokenizer.get_vocab_size(),
            "bos_token_id": end,
            "eos_token_id": end,
            "torch_dtype": "bfloat16",
        },
        "generation_config.json": {"bos_token_id": end, "eos_token_id": end},
        "tokenizer_config.json": {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "model_max_length": CONTEXT,
            "bos_token": SPECIAL[0],
            "eos_token": SPECIAL[0],
            "chat_template": CHAT_TEMPLATE,
        },
    }
    for name, document in documents.items():
        (folder / name).write_text(json.dumps(document, indent=2) + "\n")


if __name__ == "__main__":
    write_model(Path(sys.argv[1]))
