"""pkg_config_repository: Bazel targets for a system library that has .pc files."""

# The compiler looks here without being told.
_DEFAULT_INCLUDES = ["/usr/include", "/usr/local/include"]

def _split_label(label):
    """//a/b:c -> ("a/b", "c"); //a/b -> ("a/b", "b"), as Bazel reads it."""
    package, _, name = label.lstrip("/").partition(":")
    return package, name or package.split("/")[-1]

def _pkg_config(ctx, modules):
    """Returns struct(defines, includes, links, error) of pkg-config modules."""
    tool = ctx.which("pkg-config")
    if tool == None:
        return struct(error = "pkg-config, which is not installed")
    result = ctx.execute([tool, "--cflags", "--libs"] + modules)
    if result.return_code != 0:
        return struct(error = "the pkg-config modules %s, which are not all installed" % ", ".join(modules))
    defines, includes, links = [], [], []
    for flag in [f for f in result.stdout.strip().split(" ") if f]:
        if flag.startswith("-D"):
            defines.append(flag[2:])
        elif flag.startswith("-I"):
            if flag[2:] not in _DEFAULT_INCLUDES:
                includes.append(flag[2:])
        elif flag.startswith("-l") or flag.startswith("-L") or flag.startswith("-Wl,") or flag == "-pthread":
            links.append(flag)
    return struct(defines = defines, includes = includes, links = links, error = None)

# A library that is missing still loads. Building anything that includes it
# stops with one sentence.
_MISSING = """
genrule(
    name = "{name}_missing",
    outs = ["{name}_missing.h"],
    cmd = "echo 'ERROR: {message}' >&2; exit 1",
)

cc_library(
    name = "{name}",
    hdrs = [":{name}_missing"],
)
"""

_FOUND = """
cc_library(
    name = "{name}",
    hdrs = {hdrs},
    defines = {defines},
    includes = {hdrs},
    linkopts = {links},
)
"""

def _impl(ctx):
    packages = {"": []}
    for label, modules in ctx.attr.targets.items():
        package, name = _split_label(label)
        found = _pkg_config(ctx, modules.split(" "))
        if found.error:
            text = _MISSING.format(name = name, message = "@{repository}{label} needs {error}: run tools/setup, or install {debian}, or define the repository {repository} before flaggems_deps()".format(
                repository = ctx.name,
                label = label,
                error = found.error,
                debian = ctx.attr.debian_package,
            ))
        else:
            # One directory label for each prefix that needs a flag of its own.
            links_to_headers = []
            for include in found.includes:
                link = "include_%s_%d" % (name, len(links_to_headers))
                ctx.symlink(include, (package + "/" if package else "") + link)
                links_to_headers.append(link)
            text = _FOUND.format(
                name = name,
                hdrs = repr(links_to_headers),
                defines = repr(found.defines),
                links = repr(found.links),
            )
        packages.setdefault(package, []).append(text)
    for package, texts in packages.items():
        ctx.file(
            (package + "/" if package else "") + "BUILD.bazel",
            "package(default_visibility = [\"//visibility:public\"])\n" + "".join(texts),
        )

pkg_config_repository = repository_rule(
    implementation = _impl,
    doc = """Makes one cc_library per target from the flags that pkg-config prints.

    A library that is not installed gives targets whose build fails with one
    sentence on what to install, so that loading never fails.""",
    attrs = {
        "targets": attr.string_dict(
            doc = "label inside the repository -> pkg-config modules, separated by spaces",
        ),
        "debian_package": attr.string(doc = "what to install; for the message"),
    },
    environ = ["PATH", "PKG_CONFIG_PATH", "PKG_CONFIG_LIBDIR"],
    local = True,
)
