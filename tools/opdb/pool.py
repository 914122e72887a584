"""Worker processes that are replaced when they crash or hang."""

import json
import os
import pathlib
import queue
import select
import subprocess
import sys
import tempfile
import threading

DTYPES = ["float32", "bfloat16", "float16", "int64", "complex64"]

WORKER = pathlib.Path(__file__).resolve().parent / "worker.py"

# One pair may lose so many workers; what is left of it is not run then.
MOST_LOSSES = 5
# Seconds in which a new worker imports torch.
START = 300


def read_pairs(folder):
    """The lines of FOLDER/pairs.jsonl; an unfinished last one is left out."""
    path = folder / "pairs.jsonl"
    if not path.exists():
        return
    with open(path) as file:
        for line in file:
            if line.endswith("\n"):
                yield json.loads(line)


def drop_torn_line(folder):
    """Of a run that was killed: the next line must not be added to it."""
    path = folder / "pairs.jsonl"
    if path.exists():
        whole = path.read_bytes()
        os.truncate(path, whole.rfind(b"\n") + 1)


class Lost(Exception):
    """The worker has ended or does not answer."""


class NoWorker(Exception):
    """Workers do not start."""


class Worker:

    def __init__(self, command):
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL)
        self._buffer = b""
        self.observed = self.read(START)["observed"]

    def read(self, timeout):
        """The next answer."""
        while b"\n" not in self._buffer:
            if not select.select([self._process.stdout], [], [], timeout)[0]:
                self.end()
                raise Lost("no answer for %g s" % timeout)
            more = self._process.stdout.read1(1 << 20)
            if not more:
                raise Lost("ended with status %s" % self._process.wait())
            self._buffer += more
        line, _, self._buffer = self._buffer.partition(b"\n")
        return json.loads(line)

    def ask(self, request, timeout):
        """(result, sample that was lost, why): result or the other two."""
        sample = -1
        try:
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            self._process.stdin.flush()
            while True:
                answer = self.read(timeout)
                if "result" in answer:
                    return answer["result"], None, None
                sample = answer["sample"]
        except (Lost, BrokenPipeError) as lost:
            return None, sample, str(lost)

    def end(self):
        self._process.kill()
        # Closes the pipes and waits.
        self._process.__exit__(None, None, None)


class Pool:

    def __init__(self, folder, library, seed, timeout, worker=WORKER,
                 options=()):
        self._folder = folder
        self._timeout = timeout
        self._command = [
            sys.executable, str(worker), "--library=%s" % library,
            "--seed=%d" % seed, *options
        ]
        self._lock = threading.Lock()
        self._left = queue.SimpleQueue()
        self._total = self._done = 0
        self._failure = None

    def run(self, pairs, jobs):
        """Runs [(number of the operator, its name, dtype)]."""
        drop_torn_line(self._folder)
        finished = {(p["op"], p["dtype"]) for p in read_pairs(self._folder)}
        pairs = [pair for pair in pairs if pair[1:] not in finished]
        self._total = len(pairs)
        for pair in pairs:
            self._left.put(pair)
        threads = [threading.Thread(target=self._serve) for _ in range(jobs)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if self._failure is not None:
            raise NoWorker(self._failure)

    def _serve(self):
        with tempfile.TemporaryDirectory() as scratch:
            command = self._command + ["--log=%s/log.jsonl" % scratch]
            worker = None
            while self._failure is None:
                try:
                    number, name, dtype = self._left.get_nowait()
                except queue.Empty:
                    break
                pair = {"op": name, "dtype": dtype, "lost": []}
                skip = []
                while len(pair["lost"]) < MOST_LOSSES:
                    try:
                        worker = worker or Worker(command)
                    except Lost as lost:
                        self._failure = (
                            "a worker does not start (%s); see for yourself: "
                            "%s" % (lost, " ".join(command)))
                        return
                    result, sample, why = worker.ask(
                        {"op": number, "dtype": dtype, "skip": skip},
                        self._timeout)
                    if result is not None:
                        pair.update(result)
                        break
                    worker.end()
                    worker = None
                    pair["lost"].append({"sample": sample, "why": why})
                    skip.append(sample)
                self._write(pair)
            if worker is not None:
                worker.end()

    def _write(self, pair):
        with self._lock:
            with open(self._folder / "pairs.jsonl", "a") as file:
                file.write(json.dumps(pair) + "\n")
            self._done += 1
            if sys.stderr.isatty():
                sys.stderr.write("\r%d/%d %-60s" % (
                    self._done, self._total, pair["op"] + " " + pair["dtype"]))
                sys.stderr.flush()
