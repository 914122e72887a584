"""Build settings (Bazel 4.2.3 without skylib)."""

def _bool_flag_impl(_ctx):
    return []

bool_flag = rule(
    implementation = _bool_flag_impl,
    build_setting = config.bool(flag = True),
    doc = "A command line flag of the build: --//package:name=true or false.",
)
