"""The page docs/opdb.md."""

HEAD = """# The operator database

What the checker says of torch's own CPU kernels while the samples of
torch.testing's operator database (OpInfo) run: each as it is, backward of its
first result, with strided tensors, with `out=` and in place, where it has these
forms. Every kernel of `aten` is observed in profile `strict` and every call
checked, on one thread. A sample whose result is empty runs as it is and backward
only: its other forms would add nothing but `UNTRUSTED(empty)`. The page is the
yardstick for false alarms and for coverage.

    ./tools/bazel build //flaggems/library:libflaggems.so
    ./tools/python tools/opdb/opdb.py run --folder=/tmp/opdb
    ./tools/python tools/opdb/opdb.py table --folder=/tmp/opdb >docs/opdb.md

Names are those of overloads at the CPU key. Calls that the checker's own
references make are not counted. *Counted* are calls of operators that are
deterministic (no tag `nondeterministic_seeded`) and no views (no result has an
alias annotation without `!`); their share of PASS is to be 95 % at least. A
result without elements proves nothing, so it is no PASS: `UNTRUSTED(empty)`.
"""


def cell(text):
    return str(text).replace("|", "\\|").replace("\n", " ")


def row(*cells):
    return "| " + " | ".join(cell(each) for each in cells) + " |\n"


def head(*titles):
    return row(*titles) + "|" + "---|" * len(titles) + "\n"


def number(count):
    return "{:,}".format(count)


def share(part, whole):
    return "%.2f %%" % (100.0 * part / whole) if whole else "-"


def totals(aggregate):
    calls, passed = aggregate.counted()
    every = sum(op.calls for op in aggregate.ops.values())
    text = "\n## Totals\n\n" + head("", "")
    for title, value in (
        ("torch", aggregate.torch_version),
        ("entries of the database", number(len(aggregate.opinfos))),
        ("entries and dtypes run", number(aggregate.pairs)),
        ("samples, of them with backward",
         "%s, %s" % (number(aggregate.samples), number(aggregate.backward))),
        ("overloads called", number(len(aggregate.ops))),
        ("overloads judged (PASS or FAIL)", number(aggregate.judged())),
        ("calls", number(every)),
        ("counted calls", number(calls)),
        ("PASS among them", "%s, %s" % (number(passed), share(passed, calls))),
        ("PASS among those with an element",
         share(passed, calls - aggregate.by_reason()["UNTRUSTED empty", True])),
        ("FAIL that is no known inaccuracy", number(aggregate.unexplained())),
        ("crashes and hangs", number(len(aggregate.lost))),
    ):
        text += row(title, value)
    text += "\n" + head("verdict", "counted calls", "share", "other calls")
    total = aggregate.by_reason()
    names = sorted({name for name, _ in total},
                   key=lambda name: -total[name, True] - total[name, False])
    for name in names:
        text += row(name, number(total[name, True]),
                    share(total[name, True], calls), number(total[name, False]))
    return text


def lost(aggregate):
    if not aggregate.lost:
        return ""
    text = "\n## Crashes and hangs\n\n" + head("entry", "dtype", "sample", "")
    for each in sorted(aggregate.lost, key=lambda x: (x["op"], x["dtype"])):
        text += row(each["op"], each["dtype"], each["sample"], each["why"])
    return text


def known(aggregate):
    text = """
## Known inaccuracies of torch

The rows of tools/opdb/known.tsv: what FAIL is right about.

""" + head("op", "dtype", "reason", "entry", "calls", "what is wrong")
    for each in aggregate.known:
        text += row("`%s`" % each.row["op"], each.row["dtype"],
                    each.row["reason"], each.row["opinfo"],
                    number(each.calls), each.row["why"])
    return text


def example(record):
    """One line of a record."""
    if record is None:
        return ""
    parts = ["%s: %s -> %s" % (record["opinfo"], ", ".join(map(str, record["inputs"])),
                               record["output"])]
    if record["score"]:
        parts.append("score %.3g" % float(record["score"]))
    if record["worst_index"] is not None:
        parts.append("at %s got %s want %s" % (tuple(record["worst_index"]),
                                               record["got"], record["want"]))
    if record.get("message"):
        parts.append(record["message"].splitlines()[0][:160])
    return "; ".join(parts)


def not_passed(aggregate):
    text = "\n## What is no PASS\n\nFAIL first, then by calls.\n\n" + head(
        "op", "verdict", "calls", "known", "dtypes", "example")
    rows = [(op, name, reason) for op in aggregate.ops.values()
            for name, reason in op.reasons.items()]
    rows.sort(key=lambda each: (not each[1].startswith("FAIL"),
                                -each[2].calls, each[0].name, each[1]))
    for op, name, reason in rows:
        text += row("`%s`" % op.name, name, number(reason.calls),
                    number(reason.known) if reason.known else "",
                    ", ".join(sorted(reason.dtypes)), example(reason.example))
    return text


def every(aggregate):
    text = "\n## Every overload\n\n" + head(
        "op", "calls", "PASS", "FAIL", "ERROR", "UNTRUSTED", "SKIP",
        "worst score", "dtypes")
    for name, op in sorted(aggregate.ops.items()):
        sums = [sum(reason.calls for key, reason in op.reasons.items()
                    if key.startswith(status))
                for status in ("FAIL", "ERROR", "UNTRUSTED", "SKIP")]
        text += row("`%s`" % name, number(op.calls), number(op.passed),
                    *[number(count) if count else "" for count in sums],
                    "%.3g" % op.worst_score if op.worst_score else "",
                    ", ".join(sorted(op.dtypes)))
    return text


def format_page(aggregate):
    return (HEAD + totals(aggregate) + lost(aggregate) + known(aggregate) +
            not_passed(aggregate) + every(aggregate))
