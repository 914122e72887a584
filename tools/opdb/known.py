"""What is known to be wrong in torch's own kernels: known.tsv."""

import csv
import fnmatch
import pathlib

TABLE = pathlib.Path(__file__).resolve().parent / "known.tsv"
COLUMNS = ("op", "dtype", "reason", "opinfo", "why")


class Known:
    """One row: op, dtype, reason and opinfo are glob patterns."""

    def __init__(self, row):
        self.row = row
        self.calls = 0

    def matches(self, op, dtype, reason, opinfo):
        return all(
            fnmatch.fnmatchcase(value, self.row[column])
            for column, value in zip(COLUMNS, (op, dtype, reason, opinfo)))


def read_known(path=TABLE):
    with open(path, newline="") as file:
        lines = [line for line in file if not line.startswith("#")]
    rows = list(csv.DictReader(lines, delimiter="\t"))
    for row in rows:
        if tuple(row) != COLUMNS or not row["why"]:
            raise ValueError("%s: a row needs the columns %s" %
                             (path, ", ".join(COLUMNS)))
    return [Known(row) for row in rows]
