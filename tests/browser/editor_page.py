"""The editor's page as a user drives it, for the browser tests."""

from tests.browser.shared import script

_OF_THE_MODEL = ("undo", "redo", "total", "commit", "cancel", "download", "card")


class EditorPage:
    """One editor on a dashboard's page.

    Parameters
    ----------
    dashboard : Dashboard
    index : int, default=0
        Which of the page's editors, counted from the top.
    """

    def __init__(self, dashboard, index=0):
        self.dashboard = dashboard
        self.mouse = dashboard.page.mouse
        self._index = index

    @property
    def card(self):
        """The editor itself."""
        return self.dashboard.page.locator(".idp-editor:not(.idp-editor-model)").nth(self._index)

    @property
    def bar(self):
        """The bar of the model, which is above all cards."""
        return self.dashboard.page.locator(".idp-editor-model")

    def text(self, part):
        """Return what a part shows, such as "selected", "line" or "status"."""
        return self.card.locator(f".idp-editor-{part}").first.inner_text()

    def press(self, action):
        """Press a button and wait until the page shows what came of it."""
        where = self.bar if action in _OF_THE_MODEL else self.card
        where.locator(f'[data-action="{action}"]').click()
        self.dashboard.settle()

    def keys(self, *combinations):
        """Press keys one after the other, and wait."""
        for combination in combinations:
            self.dashboard.page.keyboard.press(combination)
            self.dashboard.settle()

    def choose(self, label):
        """Choose one of the modes or scales."""
        found = self.card.locator(".idp-editor-segments label", has_text=label)
        if not found.is_visible():
            self.unfold("Options")
        found.click()
        self.dashboard.settle()

    def unfold(self, title):
        """Open a part of the card, or of the bar, that is folded."""
        where = self.bar if title == "History and files" else self.card
        where.locator("summary", has_text=title).click()

    def type(self, field, text):
        """Type into a field: "why", "number", "from" or "to"."""
        if field in ("from", "to"):
            return self.card.locator(f'.idp-editor-typed input[placeholder="{field}"]').fill(text)
        where, name = (self.bar, "why-field") if field == "why" else (self.card, field)
        where.locator(f".idp-editor-{name} input").fill(text)

    def place(self, code=None, position=0.0):
        """Return pixels across and down of a bin's score, or of a position in the upper part.

        The third number is how much a pixel is in units of score.
        """
        self.card.locator(".js-plotly-plot").scroll_into_view_if_needed()
        self.dashboard.hold_still()
        found = self.dashboard.page.evaluate(script("place"), [self._index, code, position])
        return found[0], found[1], found[2]

    def select(self, first, last):
        """Select a range by drawing across the plot, in units of its horizontal axis."""
        start, end = self.place(position=first), self.place(position=last)
        self.draw(start[:2], (end[0], end[1] + 20))

    def draw(self, start, end):
        """Draw from one pixel to another, and wait for another selection than before.

        plotly reports what was selected a tenth of a second after the gesture.
        """
        before = self.text("selected")
        self.mouse.move(*start)
        self.mouse.down()
        self.mouse.move((start[0] + end[0]) / 2, (start[1] + end[1]) / 2, steps=4)
        self.mouse.move(*end, steps=4)
        self.mouse.up()
        self.card.locator(".idp-editor-selected").filter(has_not_text=before).wait_for()
        self.dashboard.settle()

    def click(self, code, *, down=0.0):
        """Click a bin, so many pixels below its score."""
        across, height, _ = self.place(code)
        self.mouse.click(across, height + down)
        self.dashboard.settle()

    def drag(self, code, *, up, below=0.0, keep=True):
        """Drag a bin up by so many pixels; return how much that is in units of score.

        The press is so many pixels below its score; without ``keep`` the button stays down.
        """
        across, height, unit = self.place(code)
        self.mouse.move(across, height + below)
        self.mouse.down()
        self.mouse.move(across, height + below - up / 2, steps=3)
        self.mouse.move(across, height + below - up, steps=3)
        if keep:
            self.mouse.up()
            self.dashboard.settle()
        return up * unit
