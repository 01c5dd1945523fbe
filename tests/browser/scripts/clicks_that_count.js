// Clicks twice before each of two answers, and returns how many of the four clicks are reported.
async button => {
    let counted = 0;
    const { set_props } = window.dash_clientside;
    window.dash_clientside.set_props = () => { counted++; };
    for (let answers = 0; answers < 2; answers++) {
        for (let clicks = 0; clicks < 2; clicks++) button.click();
        const card = button.closest('.idp-editor');
        for (const isBusy of [true, false]) card.setAttribute('aria-busy', isBusy);
        await null;
    }
    window.dash_clientside.set_props = set_props;
    return counted;
}
