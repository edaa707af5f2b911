// What a failed CHECK shows of our values. Include it wherever a Result, an Error or a list of texts is
// compared.
#pragma once

#include "shared/core/result.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace doctest {

template <>
struct StringMaker<dockdist::Error> {
    static String convert(const dockdist::Error& error) {
        return (std::string(dockdist::to_string(error.kind)) + " error: " + dockdist::to_text(error)).c_str();
    }
};

template <class T>
struct StringMaker<boost::system::result<T, dockdist::Error>> {
    static String convert(const boost::system::result<T, dockdist::Error>& result) {
        return result ? String("a success") : StringMaker<dockdist::Error>::convert(result.error());
    }
};

template <>
struct StringMaker<std::vector<std::string>> {
    static String convert(const std::vector<std::string>& texts) {
        std::string joined = "[";
        for (const auto& text : texts) {
            joined += (joined.size() > 1 ? ", \"" : "\"") + text + "\"";
        }
        return (joined + "]").c_str();
    }
};

} // namespace doctest
