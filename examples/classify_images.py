"""Train a private classifier of images whose weights can be looked at.

``python classify_images.py`` takes some seconds; compare_with_a_cnn.ipynb sets it beside a CNN.
"""

from sklearn.datasets import load_digits

from interpret_dp import Categorical, Continuous, DPLocallyLinearClassifier, Schema

digits = load_digits()  # 1,797 images of 8 x 8 pixels, from 0 to 16
images, labels = digits.images, digits.target
model = DPLocallyLinearClassifier(
    epsilon=2.0,
    delta=1e-5,
    schema=Schema(default=Continuous(0, 16), target=Categorical(range(10))),
).fit(images[:1_400], labels[:1_400])
print(model.guarantee_.sentence)
print(f"{model.score(images[1_400:], labels[1_400:]):.1%} of new images are read correctly")
asked = slice(1_400, 1_403)
explanation = model.explain_local(images[asked], labels[asked])
reading = explanation.reading(0, labels[1_400])
print("score", reading.score, "is what the pixels add", reading.contributions.sum() + reading.bias)
explanation.figure(0).write_html("image.html", include_plotlyjs=True)
model.save("digits.json")
