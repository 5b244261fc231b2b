// Marks of so many trials that they would cover each other, as shades that grow with their number.
import type { Area } from "./chart.ts";
import { alphaOf, Raster } from "./raster.ts";
import { channels, colour } from "./theme.ts";

/** So many marks are shades; fewer have shapes. */
export const crowded = 1500;
const faintest = 0.35; // the opacity of a lone mark

export class Crowd {
    private kept: { key: string; canvas: HTMLCanvasElement } | null = null;

    /** Draws the marks of rows. `place` is where a row lies in pixels of the canvas, and the same for the same scales. */
    draw(area: Area, rows: number[], place: (row: number) => readonly [number, number]): void {
        const { left, top, width, height, x, y } = area;
        const key = [left, top, width, height, x(1), x(2), y(1), y(2), rows.length, colour("mild")].join();
        if (this.kept?.key !== key) {
            const size = Math.max(2, Math.round(2 * area.ratio));
            const raster = new Raster(Math.round(width), Math.round(height));
            for (const row of rows) {
                const [across, down] = place(row);
                raster.dot(across - left, down - top, size);
            }
            const image = new ImageData(raster.width, raster.height);
            raster.paint(image, channels("mild"), Math.max(faintest, alphaOf(rows.length)));
            const canvas = document.createElement("canvas");
            [canvas.width, canvas.height] = [raster.width, raster.height];
            canvas.getContext("2d")!.putImageData(image, 0, 0);
            this.kept = { key, canvas };
        }
        area.context.drawImage(this.kept.canvas, left, top);
    }
}
