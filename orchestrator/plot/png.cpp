#include "orchestrator/plot/png.hpp"

#include <dlfcn.h>

#include <cstdio>
#include <map>
#include <memory>
#include <regex>

namespace hpo::plot {

namespace {

constexpr int pixels = 2;  ///< of a unit of the document

/// A library that stays loaded until the program ends.
class Library {
   public:
    explicit Library(const char* name) : handle_(::dlopen(name, RTLD_NOW | RTLD_LOCAL)) {}
    [[nodiscard]] explicit operator bool() const { return handle_ != nullptr; }
    /// Sets a pointer to a function. Returns false if the library lacks it.
    template <class Function>
    bool find(Function*& function, const char* name) const {
        function = reinterpret_cast<Function*>(::dlsym(handle_, name));
        return function != nullptr;
    }

   private:
    void* handle_;
};

struct Rectangle {  // RsvgRectangle
    double x, y, width, height;
};

struct Functions {
    void* (*handle_of_data)(const unsigned char*, unsigned long, void**);
    int (*render)(void*, void*, const Rectangle*, void**);
    void (*unref)(void*);
    void* (*surface)(int, int, int);
    void* (*context)(void*);
    int (*write)(void*, int (*)(void*, const unsigned char*, unsigned), void*);
    void (*destroy_context)(void*);
    void (*destroy_surface)(void*);

    /// Returns false if a library is not installed or too old.
    bool load() {
        const Library rsvg("librsvg-2.so.2"), cairo("libcairo.so.2"), objects("libgobject-2.0.so.0");
        return rsvg && cairo && objects && rsvg.find(handle_of_data, "rsvg_handle_new_from_data") &&
               rsvg.find(render, "rsvg_handle_render_document") && objects.find(unref, "g_object_unref") &&
               cairo.find(surface, "cairo_image_surface_create") && cairo.find(context, "cairo_create") &&
               cairo.find(write, "cairo_surface_write_to_png_stream") && cairo.find(destroy_context, "cairo_destroy") &&
               cairo.find(destroy_surface, "cairo_surface_destroy");
    }
};

int append(void* text, const unsigned char* bytes, unsigned count) {
    static_cast<std::string*>(text)->append(reinterpret_cast<const char*>(bytes), count);
    return 0;
}

/// Returns the document with the colours of the light theme in place of variables, which librsvg does not know.
std::string with_colours(std::string svg) {
    const auto dark = svg.find("@media");
    if (dark != std::string::npos) svg.erase(dark, svg.find("}}", dark) + 2 - dark);
    std::map<std::string, std::string> colours;
    const std::regex definition("--([a-z]+):(#[0-9a-f]+);");
    for (std::sregex_iterator found(svg.begin(), svg.end(), definition), end; found != end; ++found)
        colours.emplace((*found)[1], (*found)[2]);
    // The tone of a class is that of all that has it: .faint{--tone:var(--mild)}.
    std::string tones;
    const std::regex tone("\\.([a-z]+)\\{--tone:var\\(--([a-z]+)\\)\\}");
    for (std::sregex_iterator found(svg.begin(), svg.end(), tone), end; found != end; ++found)
        tones += "path." + (*found)[1].str() + "{stroke:" + colours[(*found)[2]] + "}.fill." + (*found)[1].str() +
                 ",path.star." + (*found)[1].str() + "{fill:" + colours[(*found)[2]] + "}";
    for (const auto& [name, colour] : colours) {
        const std::string variable = "var(--" + name + ")";
        for (auto at = svg.find(variable); at != std::string::npos; at = svg.find(variable, at))
            svg.replace(at, variable.size(), colour);
    }
    if (const auto end = svg.find("</style>"); end != std::string::npos) svg.insert(end, tones);
    return svg;
}

}  // namespace

Result<std::string> draw_png(const std::string& svg) {
    double width = 0, height = 0;
    if (const auto at = svg.find(" width=\""); at != std::string::npos)
        (void)std::sscanf(svg.c_str() + at, " width=\"%lf\" height=\"%lf\"", &width, &height);
    Functions call{};
    if (!call.load())
        return Error{"PNG needs librsvg, which is not installed (Debian: apt install librsvg2-2); SVG needs nothing"};
    const std::string text = with_colours(svg);
    void* problem = nullptr;
    const std::unique_ptr<void, void (*)(void*)> document(
        call.handle_of_data(reinterpret_cast<const unsigned char*>(text.data()), text.size(), &problem), call.unref);
    if (!document) return Error{"librsvg cannot read the picture"};
    const std::unique_ptr<void, void (*)(void*)> surface(
        call.surface(0, static_cast<int>(pixels * width), static_cast<int>(pixels * height)), call.destroy_surface);
    const std::unique_ptr<void, void (*)(void*)> context(call.context(surface.get()), call.destroy_context);
    const Rectangle all{0, 0, pixels * width, pixels * height};
    std::string png;
    if (call.render(document.get(), context.get(), &all, &problem) == 0 || call.write(surface.get(), append, &png) != 0)
        return Error{"librsvg cannot draw the picture"};
    return png;
}

}  // namespace hpo::plot
