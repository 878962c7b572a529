// SPDX-License-Identifier: MIT
#include "kit/report/escape.hpp"

#include <string>

#include "support/catch.hpp"
#include "unit/conformance/report/sample_report.hpp"

namespace escape = tenon::conformance::escape;

TEST_CASE("UTF-8 is not changed, and other bytes are shown", "[conformance]") {
  CHECK(escape::utf8("").empty());
  CHECK(escape::utf8("a\xc3\xa9\xe2\x80\xa6\xf0\x9f\x92\xa5\n") ==
        "a\xc3\xa9\xe2\x80\xa6\xf0\x9f\x92\xa5\n");
  CHECK(escape::utf8("\xff|\x80|\xc3") == "\\xff|\\x80|\\xc3");
  SECTION("a zero is a character") {
    CHECK(escape::utf8(std::string("a\0b", 3)) == std::string("a\0b", 3));
  }
  SECTION("overlong forms, surrogates and numbers beyond the last character are not UTF-8") {
    CHECK(escape::utf8("\xc0\xaf") == "\\xc0\\xaf");
    CHECK(escape::utf8("\xe0\x80\xaf") == "\\xe0\\x80\\xaf");
    CHECK(escape::utf8("\xed\xa0\x80") == "\\xed\\xa0\\x80");
    CHECK(escape::utf8("\xf4\x90\x80\x80") == "\\xf4\\x90\\x80\\x80");
    CHECK(escape::utf8("\xf8\x88\x80\x80\x80") == "\\xf8\\x88\\x80\\x80\\x80");
  }
  SECTION("a truncated character is not UTF-8") {
    CHECK(escape::utf8("a\xe2\x80") == "a\\xe2\\x80");
    CHECK(escape::utf8(std::string_view("\xe2\x80\xa6", 2)) == "\\xe2\\x80");
  }
  SECTION("the result is not changed again") {
    const std::string once = escape::utf8(sample::hostile_text());
    CHECK(escape::utf8(once) == once);
  }
}

TEST_CASE("a line for a terminal has no control characters", "[conformance]") {
  CHECK(escape::line("two\nlines\tand a tab") == "two lines and a tab");
  CHECK(escape::line("\x1b[31mred\r\x7f\x08") == "\\x1b[31mred\\r\\x7f\\x08");
  CHECK(escape::line("\xc2\x9b\x31m") == "\\x9b1m");
  CHECK(escape::line("\xe2\x80\xae"
                     "abc") == "\\u202eabc");
  CHECK(escape::line("\xf0\x9f\xbf\xbe") == "\\U01fffe");
  CHECK(escape::line("caf\xc3\xa9") == "caf\xc3\xa9");
}

TEST_CASE("a block for a terminal has a line feed after each line", "[conformance]") {
  CHECK(escape::block("", "  ").empty());
  CHECK(escape::block("a", "  ") == "  a\n");
  CHECK(escape::block("a\n\nb\x1b\n", "> ") == "> a\n> \n> b\\x1b\n");
}

TEST_CASE("no text begins or ends an element", "[conformance]") {
  CHECK(escape::markup("<a href=\"x\" b='y'>&amp;]]>") ==
        "&lt;a href=&quot;x&quot; b=&#39;y&#39;&gt;&amp;amp;]]&gt;");
  CHECK(escape::markup("a\tb\nc\r\x01\xef\xbf\xbf") == "a\tb\nc\\r\\x01\\uffff");
  CHECK(escape::xml_attribute("a\tb\nc") == "a&#9;b&#10;c");
}

TEST_CASE("no text is markup in Markdown", "[conformance]") {
  CHECK(escape::markdown("`x` *b* [l](u) <b> & | @all $x$ #1 a_b\n- c") ==
        "\\`x\\` \\*b\\* \\[l\\]\\(u\\) &lt;b&gt; &amp; \\| &#64;all \\$x\\$ \\#1 a\\_b - c");
  CHECK(escape::markdown("https://x www.y.z WWW.y: z.") == "https\\://x www\\.y.z WWW\\.y: z.");
}

TEST_CASE("names in the text of a rule are separated from the rest", "[conformance]") {
  const auto name = [](std::string_view text) { return "<" + std::string(text) + ">"; };
  const auto other = [](std::string_view text) { return std::string(text); };
  CHECK(escape::with_names("`init` MUST call `f`.", name, other) == "<init> MUST call <f>.");
  CHECK(escape::with_names("one ` alone, ``", name, other) == "one < alone, >`");
  CHECK(escape::with_names("none", name, other) == "none");
  CHECK(escape::with_names("", name, other).empty());
}

TEST_CASE("a text that is too long is cut between characters", "[conformance]") {
  CHECK(escape::cut("abc", 3) == "abc");
  CHECK(escape::cut("abcd", 3) == "abc\n[1 more bytes]");
  CHECK(escape::cut("ab\xe2\x80\xa6"
                    "c",
                    3) == "ab\n[4 more bytes]");
  CHECK(escape::cut("ab\xe2\x80\xa6"
                    "c",
                    4) == "ab\n[4 more bytes]");
  CHECK(escape::cut("ab\xe2\x80\xa6"
                    "c",
                    5) == "ab\xe2\x80\xa6\n[1 more bytes]");
  CHECK(escape::cut("\x80\x80\x80\x80\x80\x80", 5) == "\x80\x80\n[4 more bytes]");
  CHECK(escape::cut("abc", 0) == "\n[3 more bytes]");
}
