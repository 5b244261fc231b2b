// From which trials the shares of importance are. Pure.
import { plural } from "./format.ts";
import type { Importance } from "./study.ts";

/** Tells of a large study that not all trials were looked at. */
export function drawnFrom(ended: number | null): string {
    return ended === null ? "" : `, drawn at random from the ${ended} that ended`;
}

/** The trials from which the shares are. */
export function basis({ ended, predicted, left_out, at_step, reached, drawn_from }: Importance): string {
    const drawn = drawnFrom(drawn_from);
    if (at_step)
        return `From ${plural(reached, "trial")} that reached it${drawn}${left_out > 0 ? `; ${left_out} that were stopped earlier are left out` : ""}. Too few were trained to an end to tell what that depends on`;
    return `From ${plural(ended, "trial")} trained to an end${predicted > 0 ? ` and ${predicted} whose end is predicted` : ""}${drawn}${
        left_out > 0 ? `; ${left_out} are left out, since nothing is known of their end` : ""
    }`;
}
