from replab.figures.transfer import coordinates, transfer

SIZES = {
    layer: {
        way: {64: [0.1, 0.2, 0.3], 128: [0.1, 0.2 * up, 0.3 * up], 256: [0.1, 0.2 * up**2, 0.3 * up**2]}
        for way, up in (("standard", 2), ("muP", 1))
    }
    for layer in ("output of 3", "logits")
}


def test_the_coordinate_check_has_a_panel_a_layer_and_way(look):
    figure = coordinates(SIZES, "mlp")
    text = look(figure)
    for word in ("standard", "muP", "mean |logits|", "mean |output of 3|", "step 2", "128", "0.5"):
        assert word in text
    assert len(figure.axes) == 4
    last = [line.get_ydata()[-1] for line in figure.axes[2].lines]
    assert last == [0.1, 0.8, 1.2]


def test_losses_by_rate_and_what_diverged(look):
    points = [
        {"way": way, "width": width, "lr": lr, "loss": None if lr == 1 else 1 + lr}
        for way in ("standard", "muP")
        for width in (8, 16)
        for lr in (0.01, 0.1, 1)
    ]
    text = look(transfer(points))
    assert "width 16" in text
    assert "nothing was measured" in look(transfer([]))
    assert "nothing was measured" in look(coordinates({}))
