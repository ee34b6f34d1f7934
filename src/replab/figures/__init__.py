"""Pictures of plain values: each file has functions that return a matplotlib Figure; `style.save` writes one."""
