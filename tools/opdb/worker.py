"""One process that runs samples of torch's operator database, checked.

Reads one JSON object a line from stdin, {"op": index, "dtype": name, "skip":
[numbers of samples]}, and answers on stdout: {"sample": i} before each sample,
so that whoever waits knows which one did not come back, and at the end
{"result": ...}. opdb.py starts it.
"""

import argparse
import json
import os
import random
import sys
import warnings

import numpy
import torch
from torch.testing._internal.common_methods_invocations import op_db

from library import Library

# Every call is checked and every one that is no PASS is logged.
OPTIONS = {
    "profile": "strict",
    "max_checks": "1000000",
    "log_once": "false",
    "log_all": "true",
    "summary_at_exit": "false",
}


def seed(number):
    torch.manual_seed(number)
    random.seed(number)
    numpy.random.seed(number % 2**32)


def tensors_of(value):
    """The tensors in a nest of lists, tuples and dictionaries."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from tensors_of(item)
    elif isinstance(value, dict):
        yield from tensors_of(list(value.values()))


def like(output):
    """Tensors for out= of a call that gave `output`; None if it gave others."""
    if isinstance(output, torch.Tensor):
        return torch.empty_like(output)
    if isinstance(output, (list, tuple)) and all(
            isinstance(x, torch.Tensor) for x in output):
        return tuple(torch.empty_like(x) for x in output)
    return None


def strided(sample):
    """The sample with gaps between its elements; None if it has no such form."""
    tensors = tensors_of([sample.input, sample.args, sample.kwargs])
    if not any(x.dim() > 0 for x in tensors):
        return None
    try:
        return sample.noncontiguous()
    except RuntimeError:  # sparse tensors
        return None


def backward(sample, result):
    """The gradients of the first result that has one, with random weights."""
    inputs = [
        x for x in tensors_of([sample.input, sample.args, sample.kwargs])
        if x.requires_grad
    ]
    outputs = [x for x in tensors_of(result) if x.requires_grad]
    if not inputs or not outputs:
        return False
    with torch.no_grad():
        weights = torch.rand(outputs[0].shape).add(0.5).to(outputs[0])
    torch.autograd.grad(outputs[0], inputs, weights, allow_unused=True)
    return True


class Run:
    """One row of the database with one dtype."""

    def __init__(self, library, log, number, seed_number, device):
        self._library = library
        self._log = log
        self._seed = seed_number
        self._op = op_db[number]
        self._device = device

    def samples(self, dtype):
        # The checker is off: what makes the samples is not what is judged.
        seed(self._seed)
        grad = self._op.supports_autograd and dtype in (
            self._op.supported_backward_dtypes(self._device))
        samples = self._op.sample_inputs(self._device, dtype, requires_grad=grad)
        return [(sample, strided(sample)) for sample in samples]

    def run(self, dtype_name, skip, report):
        result = {"samples": 0, "backward": 0, "refused": {}}
        try:
            samples = self.samples(getattr(torch, dtype_name))
        except Exception as error:
            result["refused"] = {"no samples: " + first_line(error): 1}
            return dict(result, summary=[], log=[])
        self._library.call(
            "enable_precision_check", options=dict(OPTIONS, path=self._log))
        try:
            for i in range(len(samples)):
                if i in skip:
                    continue
                report({"sample": i})
                seed(self._seed + i)
                self.sample(*samples[i], result)
                samples[i] = None
            result["summary"] = self._library.call("summary")
        finally:
            self._library.call("disable_precision_check")
        with open(self._log) as log:
            result["log"] = [json.loads(line) for line in log]
        return result

    def sample(self, sample, other, result):
        """The sample in all forms that the operator has.

        In one only if its result is empty: the other forms of nothing are the
        same nothing.
        """
        result["samples"] += 1
        output = self._form(result, self._forward, sample)
        self._form(result, self._backward, sample, output, result)
        if not any(x.numel() > 0 for x in tensors_of(output)):
            return
        with torch.no_grad():
            if other is not None:
                self._form(result, self._forward, other)
            if self._op.supports_out:
                self._form(result, self._out, sample, output)
            if self._op.inplace_variant and not sample.broadcasts_input:
                self._form(result, self._in_place, sample)

    def _form(self, result, run, sample, *more):
        try:
            return run(sample, *more)
        except Exception as error:
            # Some samples show that a call is refused.
            text = first_line(error)
            result["refused"][text] = result["refused"].get(text, 0) + 1
            return None

    def _forward(self, sample):
        return self._op.op(sample.input, *sample.args, **sample.kwargs)

    def _backward(self, sample, output, result):
        result["backward"] += backward(sample, output)

    def _out(self, sample, output):
        out = like(output)
        if out is not None:
            self._op.op(sample.input, *sample.args, **sample.kwargs, out=out)

    def _in_place(self, sample):
        self._op.inplace_variant(sample.input.detach().clone(), *sample.args,
                                 **sample.kwargs)


def first_line(error):
    text = "%s: %s" % (type(error).__name__, error)
    return text.splitlines()[0][:160]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", required=True)
    parser.add_argument("--log", required=True, help="a file that it may write")
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--kernels", default="observed")
    arguments = parser.parse_args()

    # What operators print must not come between the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def report(answer):
        answers.write(json.dumps(answer) + "\n")
        answers.flush()

    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    library = Library(arguments.library)
    if arguments.kernels == "own":
        observed = library.call("enable", checked=True)
    else:
        observed = library.call("observe", include=["aten::*"],
                                device=arguments.device)
    report({"observed": observed["ops"]})
    for line in sys.stdin:
        request = json.loads(line)
        run = Run(library, arguments.log, request["op"], arguments.seed,
                  arguments.device)
        report({"result": run.run(request["dtype"], request["skip"], report)})


if __name__ == "__main__":
    main()
