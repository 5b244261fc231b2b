// Reads metrics from the lines of a file that a script writes: rows of CSV, or JSON.
#include "orchestrator/script/syntax/json_metrics.hpp"
#include "orchestrator/script/syntax/metrics.hpp"
#include "orchestrator/script/syntax/numbers.hpp"

namespace hpo::script {

namespace {

constexpr std::size_t max_columns = 4096;

class FileReader final : public LineReader {
   public:
    void read(string_view line, Metrics& metrics) override {
        if (line.starts_with('{')) {
            add_json(line, metrics);
            return;
        }
        const bool header = columns_.empty();
        for (std::size_t column = 0; column < max_columns; ++column) {
            const auto comma = line.find(',');
            const string_view cell = line.substr(0, comma);
            if (header)
                columns_.emplace_back(trim(cell));
            else if (column < columns_.size())
                add_text(metrics, columns_[column], cell);
            if (comma == string_view::npos) break;
            line.remove_prefix(comma + 1);
        }
    }

   private:
    std::vector<string> columns_;
};

}  // namespace

std::unique_ptr<LineReader> make_file_reader() { return std::make_unique<FileReader>(); }

}  // namespace hpo::script
