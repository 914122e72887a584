"""Repositories that Bazel 4.2.3 loads on its own, without a network.

Debian's Bazel brings rules_java; its rules_cc does not load in 4.2.3 and
remote_coverage_tools would be downloaded, so both are small files here. They
are linked by Label: a local_repository path would be the consumer's when
flaggems is itself a dependency.
"""

def _linked_repository_impl(ctx):
    ctx.file("WORKSPACE", "workspace(name = \"%s\")\n" % ctx.name)
    for package in ctx.attr.empty_packages:
        ctx.file((package + "/" if package else "") + "BUILD", "")
    for label, path in ctx.attr.files.items():
        ctx.symlink(ctx.path(label), path)

_linked_repository = repository_rule(
    implementation = _linked_repository_impl,
    attrs = {
        "files": attr.label_keyed_string_dict(allow_files = True),
        "empty_packages": attr.string_list(),
    },
    local = True,
)

def rules_cc_repository(name):
    _linked_repository(
        name = name,
        empty_packages = ["", "cc"],
        files = {Label("//third_party/bazel:rules_cc/defs.bzl.tpl"): "cc/defs.bzl"},
    )

def remote_coverage_tools_repository(name):
    _linked_repository(
        name = name,
        files = {Label("//third_party/bazel:remote_coverage_tools/BUILD.tpl"): "BUILD"},
    )

def rules_java_repository(name):
    native.local_repository(name = name, path = "/usr/share/bazel/rules/java")
