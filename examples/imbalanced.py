"""
Imbalanced classes
==================

Three rows in a hundred belong to the class of interest. Always predicting the other is correct 97
times in a hundred; class weights change what the loss optimises.
"""

# %%
import matplotlib.pyplot as plt
from sklearn.datasets import make_classification
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import train_test_split

from separatrix import BoundaryDisplay, LinearClassifier, diagnose

X, y = make_classification(
    4000, 2, n_redundant=0, n_clusters_per_class=1, weights=[0.97], class_sep=0.8, random_state=3
)
train, test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)
figure, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
for ax, weight in zip(axes, (None, "balanced"), strict=True):
    clf = LinearClassifier("logistic", class_weight=weight).fit(train, y_train)
    found = clf.predict(test)
    print(
        f"class_weight={weight!r}: {clf.score(test, y_test):.3f} right, "
        f"{balanced_accuracy_score(y_test, found):.3f} on average over the classes"
    )
    BoundaryDisplay.from_estimator(clf, test, y_test, ax=ax, name=f"class_weight={weight!r}")

# %%
# A diagnosis of the first fit explains this.
print(diagnose(LinearClassifier("logistic").fit(train, y_train), train, y_train))
