"""A subscriber for tests: keeps the lines a person would read."""


class Lines(list):
    def hear(self, event):
        if "text" in event.facts:
            self.append(event.facts["text"])
