# ruff: noqa: B007  (a tutorial names its loop variables)
"""Fits sin(x) four ways: by hand, by autograd, with a Function of one's own, with nn and optim."""

import math

import torch

dtype = torch.float64
device = torch.device("cpu")
x = torch.linspace(-math.pi, math.pi, 200, device=device, dtype=dtype)
y = torch.sin(x)
results = []

# by hand
a, b, c, d = 0.1, -0.2, 0.3, 0.05
for t in range(50):
    y_pred = a + b * x + c * x**2 + d * x**3
    loss = (y_pred - y).pow(2).sum().item()
    grad_y = 2.0 * (y_pred - y)
    a -= 1e-6 * grad_y.sum().item()
    b -= 1e-6 * (grad_y * x).sum().item()
    c -= 1e-6 * (grad_y * x**2).sum().item()
    d -= 1e-6 * (grad_y * x**3).sum().item()
results += [loss, a, b, c, d]

# by autograd
w = [torch.tensor(v, dtype=dtype, requires_grad=True) for v in (0.1, -0.2, 0.3, 0.05)]
for t in range(50):
    y_pred = w[0] + w[1] * x + w[2] * x**2 + w[3] * x**3
    loss = (y_pred - y).pow(2).sum()
    loss.backward()
    with torch.no_grad():
        for p in w:
            p -= 1e-6 * p.grad
            p.grad = None
results += [loss.item(), *[p.item() for p in w]]


class LegendrePolynomial3(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input):
        ctx.save_for_backward(input)
        return 0.5 * (5 * input**3 - 3 * input)

    @staticmethod
    def backward(ctx, grad_output):
        (input,) = ctx.saved_tensors
        return grad_output * 1.5 * (5 * input**2 - 1)


P3 = LegendrePolynomial3.apply
c = torch.full((), 0.3, dtype=dtype, requires_grad=True)
loss = (P3(0.1 + c * x) - y).pow(2).sum()
loss.backward()
results += [loss.item(), c.grad.item()]

# with nn and optim
p = torch.tensor([1, 2, 3])
xx = x.unsqueeze(-1).pow(p)
model = torch.nn.Sequential(torch.nn.Linear(3, 1), torch.nn.Flatten(0, 1)).to(dtype)
with torch.no_grad():
    model[0].weight.copy_(torch.tensor([[0.1, 0.2, 0.3]], dtype=dtype))
    model[0].bias.fill_(0.5)
loss_fn = torch.nn.MSELoss(reduction="sum")
optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3)
for t in range(60):
    y_pred = model(xx)
    loss = loss_fn(y_pred, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
linear_layer = model[0]
results += [loss.item(), linear_layer.bias.item(), *linear_layer.weight[:, 0].tolist()]
