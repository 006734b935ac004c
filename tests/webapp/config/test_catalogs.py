"""Both languages are complete, and the compiled catalogs are up to date."""

from __future__ import annotations

import gettext
import io
import re
from pathlib import Path

import pytest
from django.conf import settings

from webapp.common.catalog import mo_write, po_read, python_texts, template_texts, texts_of

CATALOG = Path(settings.LOCALE_PATHS[0]) / "zh_Hans" / "LC_MESSAGES" / "django.po"


def test_every_text_is_translated() -> None:
    known = po_read(CATALOG.read_text(encoding="utf-8"))
    missing = {text for text in texts_of(settings.ROOT / "webapp") if not known.get(text)}
    assert missing == set()


def test_nothing_is_translated_that_nobody_says() -> None:
    known = set(po_read(CATALOG.read_text(encoding="utf-8"))) - {""}
    assert known - texts_of(settings.ROOT / "webapp") == set()


def test_placeholders_survive_translation() -> None:
    for text, translation in po_read(CATALOG.read_text(encoding="utf-8")).items():
        wanted = set(re.findall(r"%\(\w+\)[sd]", text))
        assert set(re.findall(r"%\(\w+\)[sd]", translation)) == wanted, text


def test_the_compiled_catalog_is_up_to_date() -> None:
    fresh = mo_write(po_read(CATALOG.read_text(encoding="utf-8")))
    assert CATALOG.with_suffix(".mo").read_bytes() == fresh, "run: python manage.py compile_catalogs"


def test_pythons_own_reader_understands_the_compiled_form() -> None:
    read = gettext.GNUTranslations(io.BytesIO(mo_write(po_read(CATALOG.read_text(encoding="utf-8")))))
    assert read.gettext("Sign in") == "登录"
    assert read.ngettext("%(count)d job is ahead.", "%(count)d jobs are ahead.", 3) == "前面还有 %(count)d 个任务。"


@pytest.mark.parametrize(
    ("template", "texts"),
    [
        ('{% translate "Name" %}', {"Name"}),
        ("{% translate 'Main' %}", {"Main"}),
        ("{% blocktranslate with a=b.c %}Page {{ a }}{% endblocktranslate %}", {"Page %(a)s"}),
        ("<p>Name</p>", set()),
    ],
)
def test_texts_in_templates_are_found(template: str, texts: set[str]) -> None:
    assert template_texts(template) == texts


def test_texts_in_modules_are_found() -> None:
    module = "_('a')\ngettext_lazy('b')\nngettext('one', 'many', n)\n_(variable)\nother('c')"
    assert python_texts(module) == {"a", "b", "one\0many"}
