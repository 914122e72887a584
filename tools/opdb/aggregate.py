"""Adds the results of pairs up, by aten overload."""

import collections
import json
import re


def dtype_of(record):
    """Of the failing output, else of the first tensor."""
    output = record["output"]
    if isinstance(output, list) and record["output_index"] < len(output):
        output = output[record["output_index"]]
    for value in (output, *record["inputs"]):
        found = re.search(r"torch\.(\w+)", str(value))
        if found:
            return found.group(1)
    return "none"


def rank(example):
    # "Infinity" is a text in JSON lines.
    return not example["known"], float(example["score"] or 0)


class Reason:
    """The calls of one operator that ended in one way that is no PASS."""

    def __init__(self):
        self.calls = 0
        self.known = 0
        self.dtypes = collections.Counter()
        self.messages = collections.Counter()
        self.example = None

    def add(self, record, known, opinfo):
        self.dtypes[dtype_of(record)] += 1
        self.messages[record.get("message") or ""] += 1
        if known is not None:
            self.known += 1
            known.calls += 1
        # An unknown one before known ones, then the worst.
        example = dict(record, known=known is not None, opinfo=opinfo)
        if self.example is None or rank(example) > rank(self.example):
            self.example = example

    def to_json(self):
        return {
            "calls": self.calls,
            "known": self.known,
            "dtypes": self.dtypes,
            "messages": dict(self.messages.most_common(5)),
            "example": self.example,
        }


class Op:

    def __init__(self, name, traits):
        self.name = name
        self.traits = traits
        self.calls = self.passed = 0
        self.worst_score = 0.0
        self.dtypes = set()
        self.reasons = collections.defaultdict(Reason)

    @property
    def counts(self):
        """Whether its calls are to end in PASS."""
        return not self.traits.random and not self.traits.view

    def unexplained(self):
        return sum(reason.calls - reason.known
                   for name, reason in self.reasons.items()
                   if name.startswith("FAIL"))

    def to_json(self):
        return {
            "calls": self.calls,
            "passed": self.passed,
            "worst_score": self.worst_score,
            "random": self.traits.random,
            "view": self.traits.view,
            "dtypes": sorted(self.dtypes),
            "reasons": {name: reason.to_json()
                        for name, reason in sorted(self.reasons.items())},
        }


class Aggregate:

    def __init__(self, known, traits_of, torch_version):
        self.known = known
        self.torch_version = torch_version
        self._traits_of = traits_of
        self.ops = {}
        self.lost = []
        self.refused = collections.Counter()
        self.pairs = self.samples = self.backward = 0
        self.opinfos = set()

    def add(self, pair):
        self.pairs += 1
        self.opinfos.add(pair["op"])
        for lost in pair["lost"]:
            self.lost.append(dict(lost, op=pair["op"], dtype=pair["dtype"]))
        if "summary" not in pair:
            return
        self.samples += pair["samples"]
        self.backward += pair["backward"]
        for text, count in pair["refused"].items():
            self.refused[text] += count
        for row in pair["summary"]:
            self._add_summary(row, pair["dtype"])
        for record in pair["log"]:
            self._add_record(record, pair["op"])

    def _op(self, name):
        if name not in self.ops:
            self.ops[name] = Op(name, self._traits_of(name))
        return self.ops[name]

    def _add_summary(self, row, dtype):
        op = self._op(row["op"])
        op.calls += row["calls"]
        op.passed += row["passed"]
        op.worst_score = max(op.worst_score, row["worst_score"] or 0)
        op.dtypes.add(dtype)
        for status, reasons in (("FAIL", row["failed_by_reason"]),
                                ("SKIP", row["skipped"]),
                                ("ERROR", row["errors"]),
                                ("UNTRUSTED", row["untrusted"])):
            for reason, count in reasons.items():
                op.reasons["%s %s" % (status, reason)].calls += count

    def _add_record(self, record, opinfo):
        known = None
        if record["status"] == "FAIL":
            known = next((each for each in self.known if each.matches(
                record["op"], dtype_of(record), record["reason"], opinfo)),
                         None)
        reason = "%s %s" % (record["status"], record["reason"])
        self._op(record["op"]).reasons[reason].add(record, known, opinfo)

    def counted(self):
        """(calls, PASS among them) of deterministic operators, no views."""
        ops = [op for op in self.ops.values() if op.counts]
        return sum(op.calls for op in ops), sum(op.passed for op in ops)

    def judged(self):
        """Overloads of which at least one call ended in PASS or FAIL."""
        return sum(
            op.passed > 0 or any(r.startswith("FAIL") for r in op.reasons)
            for op in self.ops.values())

    def by_reason(self):
        """{(reason, whether the operators count): calls}"""
        total = collections.Counter()
        for op in self.ops.values():
            total["PASS", op.counts] += op.passed
            for name, reason in op.reasons.items():
                total[name, op.counts] += reason.calls
        return total

    def unexplained(self):
        return sum(op.unexplained() for op in self.ops.values())

    def is_clean(self):
        return self.unexplained() == 0 and not self.lost

    def write(self, path):
        calls, passed = self.counted()
        with open(path, "w") as file:
            json.dump({
                "torch": self.torch_version,
                "pairs": self.pairs,
                "samples": self.samples,
                "backward": self.backward,
                "counted_calls": calls,
                "counted_passed": passed,
                "lost": self.lost,
                "refused": self.refused,
                "ops": {name: op.to_json()
                        for name, op in sorted(self.ops.items())},
            }, file, indent=1, sort_keys=True)
