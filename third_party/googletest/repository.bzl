"""The system's GoogleTest and GoogleMock."""

load("//third_party:pkg_config.bzl", "pkg_config_repository")

def googletest_repository(name):
    pkg_config_repository(
        name = name,
        debian_package = "libgtest-dev libgmock-dev",
        targets = {
            "//:gtest": "gtest gmock",
            "//:gtest_main": "gtest_main gtest gmock",
        },
    )
