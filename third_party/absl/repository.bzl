"""The system's abseil (shared libraries; Debian's static ones are not PIC)."""

load("//third_party:pkg_config.bzl", "pkg_config_repository")

def absl_repository(name):
    pkg_config_repository(
        name = name,
        debian_package = "libabsl-dev",
        targets = {
            "//absl/algorithm:container": "absl_algorithm_container",
            "//absl/base:core_headers": "absl_core_headers",
            "//absl/container:flat_hash_map": "absl_flat_hash_map",
            "//absl/container:flat_hash_set": "absl_flat_hash_set",
            "//absl/hash": "absl_hash",
            "//absl/container:inlined_vector": "absl_inlined_vector",
            "//absl/flags:flag": "absl_flags",
            "//absl/flags:parse": "absl_flags_parse",
            "//absl/flags:reflection": "absl_flags_reflection",
            "//absl/flags:usage": "absl_flags_usage",
            "//absl/status": "absl_status",
            "//absl/status:statusor": "absl_statusor",
            "//absl/strings": "absl_strings",
            "//absl/strings:str_format": "absl_str_format",
            "//absl/synchronization": "absl_synchronization",
            "//absl/time": "absl_time",
            "//absl/types:span": "absl_span",
        },
    )
