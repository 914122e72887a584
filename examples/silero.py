"""Finds silero_vad.jit, a TorchScript voice activity detector, and makes inputs.

The model (PyPI's silero-vad: a short-time Fourier transform as a convolution,
four convolutions, an LSTM cell) takes 512 samples of 16 kHz audio and the
sampling rate, and returns the probability of speech. It keeps the LSTM's state
between calls, so repeated runs differ. Prints the path of the model and
--inputs=FILE, a torch.save of (samples, rate).
"""

import model_cache

_RATE = 16000  # Hz
_SAMPLES = 512  # the only count that the model takes at 16 kHz


def _make(folder):
    import math

    import torch

    # Like a vowel: a 120 Hz tone with overtones that fade, and some breath.
    generator = torch.Generator().manual_seed(20261129)
    time = torch.arange(_SAMPLES) / _RATE
    wave = torch.zeros(_SAMPLES)
    for overtone in range(1, 16):
        wave += torch.sin(2 * math.pi * 120 * overtone * time) / overtone
    wave += 0.05 * torch.randn(_SAMPLES, generator=generator)
    samples = (0.5 * wave / wave.abs().max()).unsqueeze(0)
    torch.save((samples, _RATE), folder / "inputs.pt")


if __name__ == "__main__":
    print(model_cache.package_folder("silero_vad") / "data" / "silero_vad.jit")
    inputs = model_cache.cached("silero", __file__, ["torch"], _make)
    print(f"--inputs={inputs / 'inputs.pt'}")
