"""flaggems_deps(): every external repository, each only if not yet defined.

A project that depends on flaggems and brings its own abseil, googletest or
libtorch defines a repository of that name before it calls flaggems_deps();
the targets that flaggems uses of each stand in third_party/<dep>/.
"""

load("//third_party/absl:repository.bzl", "absl_repository")
load("//third_party/bazel:repository.bzl", "remote_coverage_tools_repository", "rules_cc_repository", "rules_java_repository")
load("//third_party/benchmark:repository.bzl", "benchmark_repository")
load("//third_party/cuda:configure.bzl", "cuda_configure")
load("//third_party/cudnn_frontend:configure.bzl", "cudnn_frontend_configure")
load("//third_party/glog:repository.bzl", "glog_repository")
load("//third_party/googletest:repository.bzl", "googletest_repository")
load("//third_party/json:repository.bzl", "json_repository")
load("//third_party/libtorch:configure.bzl", "libtorch_configure")

_REPOSITORIES = {
    # What Bazel 4.2.3 itself loads, offline.
    "remote_coverage_tools": remote_coverage_tools_repository,
    "rules_cc": rules_cc_repository,
    "rules_java": rules_java_repository,
    # Libraries.
    "com_github_google_benchmark": benchmark_repository,
    "com_github_google_glog": glog_repository,
    "com_github_nlohmann_json": json_repository,
    "com_google_absl": absl_repository,
    "com_google_googletest": googletest_repository,
    "cudnn_frontend": cudnn_frontend_configure,
    "libtorch": libtorch_configure,
    "local_config_cuda": cuda_configure,
}

def flaggems_deps():
    """Declares the repositories that flaggems needs and nobody declared yet."""
    for name, declare in _REPOSITORIES.items():
        if native.existing_rule(name) == None:
            declare(name = name)
