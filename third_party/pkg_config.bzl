"""pkg_config_repository: Bazel targets for a system library that has .pc files."""

def _split_label(label):
    package, _, name = label.lstrip("/").partition(":")
    return package, name

def _pkg_config_flags(ctx, modules):
    """Returns (defines, include dirs, link flags, error) of pkg-config modules."""
    tool = ctx.which("pkg-config")
    if tool == None:
        return None, None, None, "pkg-config is not installed"
    result = ctx.execute([tool, "--cflags", "--libs"] + modules)
    if result.return_code != 0:
        return None, None, None, result.stderr.strip()
    defines, includes, links = [], [], []
    for flag in result.stdout.strip().split(" "):
        if flag.startswith("-D"):
            defines.append(flag[2:])
        elif flag.startswith("-I"):
            includes.append(flag[2:])
        elif flag.startswith("-l") or flag.startswith("-L") or flag.startswith("-Wl,"):
            links.append(flag)
    return defines, includes, links, None

def _failing_target(name, message):
    return """
genrule(
    name = "{name}_missing",
    outs = ["{name}_missing.h"],
    cmd = "echo '{message}' >&2; exit 1",
)

cc_library(name = "{name}", hdrs = [":{name}_missing"])
""".format(name = name, message = message.replace("'", "").replace("\n", " "))

def _impl(ctx):
    packages = {"": []}
    for label, modules in ctx.attr.targets.items():
        package, name = _split_label(label)
        defines, includes, links, error = _pkg_config_flags(ctx, modules.split(" "))
        if error:
            text = _failing_target(name, "ERROR: @{}//{}:{} needs {}; install {}, or define the repository {} before flaggems_deps()".format(
                ctx.name,
                package,
                name,
                error,
                ctx.attr.debian_package,
                ctx.name,
            ))
        else:
            text = """
cc_library(
    name = "{name}",
    copts = [],
    defines = {defines},
    linkopts = {links},
)
""".format(
                name = name,
                # /usr/include is searched anyway; another prefix needs its own
                # flag, which reaches the dependents as a define cannot.
                defines = repr(defines),
                links = repr(links),
            )
            for include in includes:
                if include != "/usr/include":
                    text = text.replace("copts = [],", "includes = [\"%s\"],\n    hdrs = [\"%s\"]," % (
                        "include_" + name,
                        "include_" + name,
                    ))
                    ctx.symlink(include, (package + "/" if package else "") + "include_" + name)
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
    environ = ["PKG_CONFIG_PATH"],
    local = True,
)
