"""Build settings (Bazel 4.2.3 without skylib)."""

def _bool_flag_impl(_ctx):
    return []

bool_flag = rule(
    implementation = _bool_flag_impl,
    build_setting = config.bool(flag = True),
    doc = "A command line flag of the build: --//package:name=true or false.",
)

StringFlagInfo = provider("The value of a string_flag.", fields = ["value"])

def _string_flag_impl(ctx):
    return [StringFlagInfo(value = ctx.build_setting_value)]

string_flag = rule(
    implementation = _string_flag_impl,
    build_setting = config.string(flag = True),
    doc = "A command line flag of the build: --//package:name=text.",
)
