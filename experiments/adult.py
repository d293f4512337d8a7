"""Adult (census income) from its table of words, with categories numbered as the publisher's description lists them."""

import csv
import io

import numpy as np

# In the order of the description; they count from 1, and what is unknown is 0.
CATEGORIES = {
    "workclass": "Private Self-emp-not-inc Self-emp-inc Federal-gov Local-gov State-gov Without-pay Never-worked",
    "education": "Bachelors Some-college 11th HS-grad Prof-school Assoc-acdm Assoc-voc 9th 7th-8th 12th Masters "
    "1st-4th 10th Doctorate 5th-6th Preschool",
    "marital_status": "Married-civ-spouse Divorced Never-married Separated Widowed Married-spouse-absent "
    "Married-AF-spouse",
    "occupation": "Tech-support Craft-repair Other-service Sales Exec-managerial Prof-specialty Handlers-cleaners "
    "Machine-op-inspct Adm-clerical Farming-fishing Transport-moving Priv-house-serv Protective-serv Armed-Forces",
    "relationship": "Wife Own-child Husband Not-in-family Other-relative Unmarried",
    "race": "White Asian-Pac-Islander Amer-Indian-Eskimo Other Black",
    "sex": "Female Male",
    "native_country": "United-States Cambodia England Puerto-Rico Canada Germany Outlying-US(Guam-USVI-etc) India "
    "Japan Greece South China Cuba Iran Honduras Philippines Italy Poland Jamaica Vietnam Mexico Portugal "
    "Ireland France Dominican-Republic Laos Ecuador Taiwan Haiti Columbia Hungary Guatemala Nicaragua "
    "Scotland Thailand Yugoslavia El-Salvador Trinadad&Tobago Peru Hong Holand-Netherlands",
}
UNKNOWN = "?"
NOT_FEATURES = ("split", "income")
POSITIVE = ">50K"


def read_adult(stream):
    """Features and labels, +1 for an income above 50K and -1 for others, of an open file of bytes."""
    numbers = {
        column: {UNKNOWN: 0, **{word: i for i, word in enumerate(words.split(), start=1)}}
        for column, words in CATEGORIES.items()
    }
    rows, labels = [], []
    for record in csv.DictReader(io.TextIOWrapper(stream, encoding="utf-8", newline="")):
        labels.append(1.0 if record["income"] == POSITIVE else -1.0)
        features = ((name, text) for name, text in record.items() if name not in NOT_FEATURES)
        rows.append([numbers[name][text] if name in numbers else float(text) for name, text in features])
    return np.array(rows, dtype=float), np.array(labels)
