"""The system's glog. Only the glog sink may depend on it."""

load("//third_party:pkg_config.bzl", "pkg_config_repository")

def glog_repository(name):
    pkg_config_repository(
        name = name,
        debian_package = "libgoogle-glog-dev",
        targets = {
            "//:glog": "libglog",
        },
    )
