"""The system's Google Benchmark."""

load("//third_party:pkg_config.bzl", "pkg_config_repository")

def benchmark_repository(name):
    pkg_config_repository(
        name = name,
        debian_package = "libbenchmark-dev",
        targets = {
            "//:benchmark": "benchmark",
        },
    )
