// How fast trials trained: samples a second against the batch size.
import { hasNumber, rangeOf } from "./axis.ts";
import { numbers } from "./columns.ts";
import { h, section } from "./dom.ts";
import { bytes, percent } from "./format.ts";
import type { Focus } from "./focus.ts";
import { scatter } from "./scatter.ts";
import type { Study } from "./study.ts";

export function speedSection(study: Study, focus: Focus): HTMLElement | null {
    const { samples_per_second, iterations_per_second, peak_device, peak_host, communication } = study.columns;
    const inSamples = hasNumber(samples_per_second);
    const speed = inSamples ? samples_per_second : iterations_per_second;
    if (!hasNumber(speed)) return null;
    const unit = inSamples ? "samples/s" : "it/s";
    const batch = study.parameters.find(({ name, choices }) => name.endsWith("batch_size") && !choices);
    const onDevice = hasNumber(peak_device);
    const peak = onDevice ? peak_device : peak_host;
    const columns = [numbers(unit, speed), numbers("peak memory", peak, bytes)];
    if (hasNumber(communication)) columns.push(numbers("communication", communication, percent));
    const y = { label: unit, range: rangeOf(speed), log: rangeOf(speed)[0] > 0 };
    const against = batch
        ? scatter(study, focus, {
              title: `${unit} against ${batch.name}`,
              x: { label: batch.name, range: rangeOf(batch.values), log: rangeOf(batch.values)[0] > 0 },
              y,
              at: (row) => [batch.values[row]!, speed[row]!],
              columns: [numbers(batch.name, batch.values), ...columns],
          })
        : scatter(study, focus, {
              title: `${unit} of each trial`,
              x: { label: "trial", range: [1, Math.max(2, study.count)], whole: true },
              y,
              at: (row) => [row + 1, speed[row]!],
              columns,
          });
    return section(
        "speed",
        "Speed",
        h("p", { class: "note" }, `Mean over a trial, with whatever ran beside it.${batch ? "" : " No batch size varies in this study."}`),
        against.element,
    );
}
