"""Train many two-layer perceptrons at once, with their parameters stacked in common tensors."""

from dataclasses import dataclass

import torch

from wtrak.errors import WtrakError


@dataclass(frozen=True)
class Networks:
    """M networks z = W₂ᵀ·relu(W₁ᵀx + b₁) + b₂ of the same shape.

    Attributes
    ----------
    w1, b1, w2, b2 : torch.Tensor, shapes (M, q, H), (M, 1, H), (M, H, C), (M, 1, C), float32
    """

    w1: torch.Tensor
    b1: torch.Tensor
    w2: torch.Tensor
    b2: torch.Tensor

    def __len__(self):
        return len(self.w1)

    @property
    def parameters(self):
        """The four tensors, in the order of the attributes."""
        return self.w1, self.b1, self.w2, self.b2

    def take(self, rows):
        """A selection of the networks."""
        return Networks(*(part[rows] for part in self.parameters))


def initial(seeds, n_inputs, width, n_classes, device):
    """Networks with the initial weights of torch.nn.Linear, each drawn from its own seed.

    A network does not depend on the other networks in the stack.
    """
    parts = []
    for seed in seeds:
        generator = torch.Generator().manual_seed(int(seed))
        layers = ((n_inputs, width), (width, n_classes))
        parts.append(
            [
                (2 * torch.rand(shape, generator=generator) - 1) * rows**-0.5
                for rows, columns in layers
                for shape in ((rows, columns), (1, columns))
            ]
        )
    return Networks(*(torch.stack(part).to(device) for part in zip(*parts, strict=True)))


def hidden(networks, x):
    """Hidden units relu(W₁ᵀx + b₁), shape (M, B, H), for inputs (B, q) or (M, B, q)."""
    return torch.relu(torch.matmul(x, networks.w1) + networks.b1)


def outputs(networks, x):
    """Logits, shape (M, B, C), for inputs (B, q) or (M, B, q)."""
    return torch.matmul(hidden(networks, x), networks.w2) + networks.b2


def train(x, y, members, seeds, recipe, n_classes, device, *, visit=None, advance=lambda k: None):
    """Fit one network to each selection of examples by Adam, all at once.

    Parameters
    ----------
    x : torch.Tensor, shape (n, q), float32, on `device`
    y : torch.Tensor, shape (n,), int64, on `device`
    members : torch.Tensor, shape (M, k), int64
        Rows of the k training examples of each network.
    seeds : list of int
        One for each network. It sets the initial weights and the order of examples.
    recipe : dict
        width, epochs, batch_size and learning_rate.
    visit : callable, optional
        Called with the number of each epoch and the networks after it.
    advance : callable
        Called with the number of networks after each epoch, to show progress.

    Returns
    -------
    Networks
        Equal, up to rounding, to networks that are fitted one by one.

    Raises
    ------
    WtrakError
        If a weight is not finite at the end.
    """
    networks = initial(seeds, x.shape[1], recipe["width"], n_classes, device)
    for part in networks.parameters:
        part.grad = torch.empty_like(part)
    optimizer = torch.optim.Adam(networks.parameters, lr=recipe["learning_rate"], fused=True)
    generators = [torch.Generator().manual_seed(int(seed) + 2**31) for seed in seeds]
    count = members.shape[1]
    buffer = x.new_empty(len(networks) * min(recipe["batch_size"], count), x.shape[1])
    with torch.no_grad():
        for epoch in range(1, recipe["epochs"] + 1):
            order = torch.stack(
                [
                    rows[torch.randperm(count, generator=generator)]
                    for rows, generator in zip(members, generators, strict=True)
                ]
            ).to(device)
            for batch in order.split(recipe["batch_size"], dim=1):
                _gradients(networks, x, y, batch, buffer)
                optimizer.step()
            if visit:
                visit(epoch, Networks(*(part.clone() for part in networks.parameters)))
            advance(len(networks))
    if not all(torch.isfinite(part).all() for part in networks.parameters):
        raise WtrakError("a network diverged; lower the recipe's learning_rate")
    return Networks(*(part.detach() for part in networks.parameters))


def _gradients(networks, x, y, batch, buffer):
    """Write the gradient of each network's mean cross-entropy on its batch to ``.grad``.

    The gradient is written out, because automatic differentiation allocates memory at every step,
    which takes half of the time.
    """
    size = batch.shape[1]
    inputs = torch.index_select(x, 0, batch.flatten(), out=buffer[: batch.numel()])
    inputs = inputs.view(len(networks), size, -1)
    h = hidden(networks, inputs)
    e = torch.softmax(torch.matmul(h, networks.w2) + networks.b2, dim=2)
    e.scatter_add_(2, y[batch][:, :, None], e.new_full((len(networks), size, 1), -1.0))
    e.div_(size)
    below = torch.matmul(e, networks.w2.transpose(1, 2)).mul_(h > 0)
    torch.bmm(inputs.transpose(1, 2), below, out=networks.w1.grad)
    torch.sum(below, dim=1, keepdim=True, out=networks.b1.grad)
    torch.bmm(h.transpose(1, 2), e, out=networks.w2.grad)
    torch.sum(e, dim=1, keepdim=True, out=networks.b2.grad)


def judge(networks, x, y, block_size=4096):
    """Loss and margin of each network at each example.

    Returns
    -------
    losses, margins : numpy.ndarray, shape (M, N), float32
        Cross-entropy, and log p_y/(1 − p_y).
    """
    losses, margins = [], []
    with torch.no_grad():
        for rows in torch.arange(len(x), device=x.device).split(block_size):
            z = outputs(networks, x[rows])
            place = y[rows].expand(len(networks), -1)[:, :, None]
            at_label = z.gather(2, place)[:, :, 0]
            others = z.scatter(2, place, -torch.inf).logsumexp(dim=2)
            losses.append(torch.logaddexp(at_label, others) - at_label)
            margins.append(at_label - others)
    return tuple(torch.cat(parts, dim=1).cpu().numpy() for parts in (losses, margins))
