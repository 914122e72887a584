"""What an operator's tags and schema say."""

import torch


class OpTraits:
    """random: results are drawn. view: a result shares an argument's memory."""

    def __init__(self, name):
        base, _, overload = name.partition(".")
        qualified = base if "::" in base else "aten::" + base
        _, _, tags = torch._C._get_operation_overload(qualified, overload)
        schema = torch._C._get_schema(qualified, overload)
        self.random = torch.Tag.nondeterministic_seeded in tags
        self.view = any(
            value.alias_info is not None and not value.alias_info.is_write
            for value in schema.returns)
