"""One file a picture: functions of plain values that give a matplotlib Figure; `style.save` writes it."""
