"""C++ rules with the repository's options.

Consumers do not inherit .bazelrc, so what our own sources need is set here.
"""

_COPTS = [
    "-std=c++17",
    "-Wall",
    "-Wextra",
]

_GTEST_MAIN = "@com_google_googletest//:gtest_main"

def flaggems_cc_library(name, srcs = None, hdrs = None, copts = [], **kwargs):
    """cc_library; srcs and hdrs default to <name>.cc and <name>.h where they exist.

    linkstatic: nothing links a library of ours on its own, so none is made.
    """
    native.cc_library(
        name = name,
        linkstatic = 1,
        srcs = native.glob([name + ".cc"]) if srcs == None else srcs,
        hdrs = native.glob([name + ".h"]) if hdrs == None else hdrs,
        copts = _COPTS + copts,
        **kwargs
    )

def flaggems_cc_test(name, srcs = None, deps = [], size = "small", copts = [], **kwargs):
    """cc_test with gtest_main, linked as a product binary is.

    linkstatic: by default Bazel links one shared library per cc_library into
    a test, which hides a missing alwayslink.
    """
    native.cc_test(
        name = name,
        srcs = [name + ".cc"] if srcs == None else srcs,
        deps = deps + [_GTEST_MAIN],
        size = size,
        copts = _COPTS + copts,
        linkstatic = 1,
        **kwargs
    )

def flaggems_cc_binary(name, srcs = None, copts = [], **kwargs):
    native.cc_binary(
        name = name,
        srcs = [name + ".cc"] if srcs == None else srcs,
        copts = _COPTS + copts,
        **kwargs
    )

def flaggems_cc_benchmark(name, srcs = None, deps = [], copts = [], tags = [], **kwargs):
    """A Google Benchmark binary and <name>_smoke, a test that runs it briefly.

    The smoke test proves that the benchmark runs and that its own checks
    hold; it asserts nothing about time.
    """
    native.cc_binary(
        name = name,
        srcs = [name + ".cc"] if srcs == None else srcs,
        deps = deps + ["@com_github_google_benchmark//:benchmark"],
        testonly = 1,
        copts = _COPTS + copts,
        tags = tags,
        **kwargs
    )
    native.sh_test(
        name = name + "_smoke",
        srcs = ["//benchmarks:smoke.sh"],
        args = ["$(rootpath :%s)" % name],
        data = [":" + name],
        size = "medium",
        tags = tags + ["benchmark"],
    )
