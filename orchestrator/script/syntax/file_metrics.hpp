// Reads the metrics of a file that a script writes while it runs: a table (table_rows.hpp), JSON (json_values.hpp), or
// lines as in a script's output. The first lines tell which.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "hpo/lines.hpp"
#include "hpo/trial.hpp"
#include "orchestrator/script/syntax/json_values.hpp"
#include "orchestrator/script/syntax/metrics.hpp"
#include "orchestrator/script/syntax/new_records.hpp"
#include "orchestrator/script/syntax/table_rows.hpp"
#include "orchestrator/script/syntax/wanted.hpp"

namespace hpo::script {

class FileMetrics {
   public:
    /// A row, an object or a line. `text` is the text of a line, and otherwise empty.
    using Record = std::function<void(const Metrics& metrics, std::string_view text)>;

    /// `epochs` is the number of epochs of the trial, 0 if it is unknown (metrics.hpp).
    explicit FileMetrics(std::string objective, std::int64_t epochs = 0);

    /// Takes text that was appended to the file. Calls `record` for each record that is new (new_records.hpp).
    void feed(std::string_view bytes, const Record& record);
    /// The script has ended: an incomplete line is read as it is.
    void finish(const Record& record);
    /// The file was rewritten. Its content follows from its beginning.
    void restart();
    /// Records read so far count for another trial.
    void forget() { new_.forget(); }
    /// Returns why a part of the file was not read, as text after "the file X: ". May be empty.
    [[nodiscard]] const std::string& problem() const;

   private:
    enum class Form { unknown, unreadable, json, table, lines };
    void decide(bool ended, const Record& record);
    void read(std::string_view bytes, const Record& record);
    void note_left_out(const std::string& part, std::size_t most_bytes);
    void take_json(std::string_view value, const Record& record);
    void pass_on(const Metrics& metrics, std::string_view text, const Record& record);

    std::string objective_;
    std::int64_t epochs_;
    NewRecords new_;
    Form form_ = Form::unknown;
    std::string head_;  ///< of the file, as long as its form is unknown
    JsonValues json_;
    std::unique_ptr<TableRows> table_;
    std::unique_ptr<LineReader> plain_;
    WantedMetrics wanted_;  ///< in plain lines
    LineSplitter lines_{max_text_line};
    std::string problem_;
};

}  // namespace hpo::script
