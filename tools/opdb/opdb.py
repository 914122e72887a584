"""Runs torch's operator database (OpInfo) with every kernel checked.

    ./tools/bazel build //flaggems/library:libflaggems.so
    ./tools/python tools/opdb/opdb.py run --folder=/tmp/opdb
    ./tools/python tools/opdb/opdb.py table --folder=/tmp/opdb >docs/opdb.md

`run` runs the samples of each operator and dtype in worker processes, in profile
strict, and appends one line a pair to FOLDER/pairs.jsonl; what stands there
already is not run again. With --device=cuda the samples are on a GPU; with
--kernels=own it is the kernels of flaggems that are run and checked, not torch's. A worker that crashes or hangs is replaced, and the
sample is left out. `table` adds up, writes FOLDER/opdb.json and prints the page.

Exit codes: 0 all is right or a known inaccuracy of torch, 1 a failure, crash or
hang that is not known, 2 the command line is wrong, 3 workers do not start.
"""

import argparse
import pathlib
import sys

from aggregate import Aggregate
from known import read_known
from pool import DTYPES, NoWorker, Pool, read_pairs
from table import format_page

HERE = pathlib.Path(__file__).resolve().parent
LIBRARY = HERE.parents[1] / "bazel-bin/flaggems/library/libflaggems.so"


def run(arguments):
    import torch
    from torch.testing._internal.common_methods_invocations import op_db

    pairs = []
    for number, op in enumerate(op_db):
        if arguments.only and op.name not in arguments.only:
            continue
        for dtype in arguments.dtypes:
            if getattr(torch, dtype) in op.supported_dtypes(arguments.device):
                pairs.append((number, op.full_name, dtype))
    pool = Pool(arguments.folder, arguments.library, arguments.seed,
                arguments.timeout,
                options=["--device=" + arguments.device,
                         "--kernels=" + arguments.kernels])
    try:
        pool.run(pairs, arguments.jobs)
    except NoWorker as error:
        print("opdb.py: %s" % error, file=sys.stderr)
        return 3
    return 0


def table(arguments):
    import torch

    from op_traits import OpTraits

    aggregate = Aggregate(read_known(), OpTraits, torch.__version__)
    for pair in read_pairs(arguments.folder):
        aggregate.add(pair)
    aggregate.write(arguments.folder / "opdb.json")
    sys.stdout.write(format_page(aggregate))
    return 0 if aggregate.is_clean() else 1


def existing_file(text):
    path = pathlib.Path(text).resolve()
    if not path.is_file():
        raise argparse.ArgumentTypeError(
            "%s is no file; build //flaggems/library:libflaggems.so" % path)
    return path


def parse(argv):
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    parser_run = commands.add_parser("run", help="run what is not run yet")
    parser_table = commands.add_parser("table", help="add up, print the page")
    for each in (parser_run, parser_table):
        each.add_argument("--folder", type=pathlib.Path, required=True,
                          help="where the results are")
    parser_run.add_argument("--library", type=existing_file, default=LIBRARY,
                            help="libflaggems.so (default: %(default)s)")
    parser_run.add_argument("--only", nargs="*", metavar="OP",
                            help="these operators of the database, by name")
    parser_run.add_argument("--device", choices=["cpu", "cuda"], default="cpu",
                            help="where (default: %(default)s)")
    parser_run.add_argument("--kernels", choices=["observed", "own"],
                            default="observed",
                            help="torch's kernels as they are, or those of "
                            "flaggems (default: %(default)s)")
    parser_run.add_argument("--dtypes", nargs="*", choices=DTYPES,
                            default=DTYPES)
    parser_run.add_argument("--jobs", type=int, default=2,
                            help="worker processes (default: %(default)s)")
    parser_run.add_argument("--timeout", type=float, default=120,
                            help="seconds a sample may take "
                            "(default: %(default)s)")
    parser_run.add_argument("--seed", type=int, default=20261129)
    return parser.parse_args(argv)


def main():
    arguments = parse(sys.argv[1:])
    if arguments.command == "table":
        return table(arguments)
    existing_file(str(arguments.library))
    arguments.folder.mkdir(parents=True, exist_ok=True)
    return run(arguments)


if __name__ == "__main__":
    sys.exit(main())
