#!/usr/bin/env python3
"""Writes budget_rows.inc, the operator table of budget_table.h.

    make_budget_rows.py op_policy.tsv > budget_rows.inc

The input has one row for each operator overload, tab-separated, with a header;
the columns of COLUMNS are read, others (measurements) are ignored. Out of these
rows come as few as give every overload its own again by the look-up that
budget_table.h describes: the exact overload, its operator, the functional form
of an in-place, out or _foreach_ operator, the default. So an overload gets a row
of its own only where its operator's others differ, and an operator gets none
where its functional form's or the default says the same.
"""

import collections
import csv
import re
import sys

COLUMNS = ("overload", "class", "h", "A", "B", "L", "native16_cpu",
           "native16_cuda", "widen", "note")

CLASSES = ("exact", "round", "sum", "input", "scale", "step", "cond", "prop",
           "random", "view", "uninit", "meta", "none")

# What the table says of an overload without its name; "note" is a comment and
# makes no difference.
Row = collections.namedtuple("Row", "op_class h a b l cpu cuda widen")

DEFAULT = Row("cond", "0.5", "16", "0.5", "0", "0, 0", "0, 0", "kFloat64")


def fail(line, message):
    sys.exit("make_budget_rows.py: line %d: %s" % (line, message))


def number(text, line):
    if text == "-":
        return "0"
    if not re.fullmatch(r"\d+(\.\d+)?", text):
        fail(line, '"%s" is no number of 0 and above, nor "-"' % text)
    return text


def native16(text, line):
    """"k" or "k+k1n" -> "k, k1"; "-" -> no allowance."""
    constant, _, slope = text.partition("+")
    if slope and not slope.endswith("n"):
        fail(line, '"%s" is neither "-" nor k nor k+k1n' % text)
    return "%s, %s" % (number(constant, line), number(slope[:-1] or "0", line))


def widen(text):
    """How to get a reference in float64, in budget_table.h's words."""
    if text.startswith("no CPU kernel") or "golden" in text:
        return "kDefinition"
    if "finfo" in text or "rcond" in text:
        return "kFillDtypeDefaults"
    if text.startswith("no"):
        return "kNever"
    return "kFloat64"  # "n/a": nothing to widen


def read(path):
    """[(name, overload, Row, note)], in the file's order."""
    rows = []
    seen = set()
    with open(path, encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file, delimiter="\t")
        missing = [c for c in COLUMNS if c not in (reader.fieldnames or ())]
        if missing:
            fail(1, "no column " + ", ".join(missing))
        for line, r in enumerate(reader, start=2):
            match = re.fullmatch(r"aten::(\w+)(?:\.(\w+))?", r["overload"])
            if not match:
                fail(line, '"%s" is no aten overload' % r["overload"])
            if r["overload"] in seen:
                fail(line, "%s has a row already" % r["overload"])
            seen.add(r["overload"])
            if r["class"] not in CLASSES:
                fail(line, '"%s" is no class' % r["class"])
            if '"' in r["note"] or "\\" in r["note"]:
                fail(line, "quotes and backslashes are not supported in notes")
            row = Row(r["class"], *(number(r[c], line) for c in "hABL"),
                      native16(r["native16_cpu"], line),
                      native16(r["native16_cuda"], line), widen(r["widen"]))
            rows.append((match[1], match[2] or "", row, r["note"]))
    return rows


def names(name):
    """The operators whose rows hold for `name`, the nearest first."""
    in_place = name.endswith("_") and not name.endswith("__")
    forms = [name]
    if in_place:
        forms.append(name[:-1])
    if name.startswith("_foreach_"):
        forms += [form[len("_foreach_"):] for form in forms]
    return forms


def find(table, name, overload):
    for form in names(name):
        for pattern in (form + "." + overload, form):
            if pattern in table:
                return table[pattern][0]
    return DEFAULT


def compress(rows):
    """{pattern: (Row, note)}."""
    operators = collections.OrderedDict()
    for name, overload, row, note in rows:
        operators.setdefault(name, []).append((overload, row, note))
    table = {}
    # Functional forms are shorter than what inherits from them.
    for name in sorted(operators, key=lambda n: (len(n), n)):
        overloads = operators[name]
        if all(find(table, name, o) == row for o, row, _ in overloads):
            continue
        counts = collections.Counter(row for _, row, _ in overloads)
        common = max(counts, key=counts.get)  # the first of equals
        note = next((n for _, row, n in overloads if row == common and n), "")
        # Whether the common row inherits already, and only others differ.
        if any(find(table, name, o) != common
               for o, row, _ in overloads if row == common):
            table[name] = (common, note)
        for overload, row, note in overloads:
            if find(table, name, overload) != row:
                table[name + "." + overload] = (row, note)
    return table


def print_row(pattern, row, note):
    print('{"%s", k%s, {%s, %s, %s, %s}, {%s}, {%s}, %s,%s"%s"},' %
          (pattern, row.op_class.capitalize(), row.h, row.a, row.b, row.l,
           row.cpu, row.cuda, row.widen, "\n " if note else " ", note))


def main(arguments):
    if len(arguments) != 1:
        sys.exit(__doc__)
    rows = read(arguments[0])
    table = compress(rows)
    for name, overload, row, _ in rows:
        assert find(table, name, overload) == row, (name, overload)
    print("// Written by make_budget_rows.py from op_policy.tsv; sorted by "
          "pattern.\n// clang-format off")
    for pattern in sorted(table):
        print_row(pattern, *table[pattern])
    print_row("*", DEFAULT, "every other operator, unknown and custom ones too")


if __name__ == "__main__":
    main(sys.argv[1:])
