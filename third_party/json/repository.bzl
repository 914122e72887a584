"""The system's nlohmann-json (headers only)."""

load("//third_party:pkg_config.bzl", "pkg_config_repository")

def json_repository(name):
    pkg_config_repository(
        name = name,
        debian_package = "nlohmann-json3-dev",
        targets = {
            "//:json": "nlohmann_json",
        },
    )
