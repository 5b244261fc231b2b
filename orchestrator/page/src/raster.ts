// Draws many thin lines by counting how often each pixel is covered, so that ten thousand lines take milliseconds, lines
// can be taken out again, and dense places stay readable. Lines are smoothed (Wu: "An efficient antialiasing technique",
// SIGGRAPH 1991).

const full = 256;

export class Raster {
    private readonly cover: Int32Array;
    constructor(
        readonly width: number,
        readonly height: number,
    ) {
        this.cover = new Int32Array(width * height);
    }

    clear(): void {
        this.cover.fill(0);
    }

    /** Adds a line; with `sign` -1, takes it out again. Parts outside are left out. */
    line(x0: number, y0: number, x1: number, y1: number, sign: 1 | -1 = 1): void {
        const steep = Math.abs(y1 - y0) > Math.abs(x1 - x0);
        if (steep) [x0, y0, x1, y1] = [y0, x0, y1, x1];
        if (x0 > x1) [x0, y0, x1, y1] = [x1, y1, x0, y0];
        const slope = x1 > x0 ? (y1 - y0) / (x1 - x0) : 0;
        const [along, across] = steep ? [this.height, this.width] : [this.width, this.height];
        const stepAlong = steep ? this.width : 1;
        const stepAcross = steep ? 1 : this.width;
        const first = Math.max(0, Math.round(x0));
        const last = Math.min(along - 1, Math.round(x1));
        const cover = this.cover;
        let y = y0 + slope * (first - x0);
        for (let x = first; x <= last; x++, y += slope) {
            const row = Math.floor(y);
            const part = Math.round((y - row) * full);
            const at = x * stepAlong + row * stepAcross;
            if (row >= 0 && row < across) cover[at]! += sign * (full - part);
            if (row + 1 >= 0 && row + 1 < across) cover[at + stepAcross]! += sign * part;
        }
    }

    /** Adds a square around a point. Parts outside are left out. */
    dot(x: number, y: number, size: number): void {
        const left = Math.round(x - size / 2);
        const top = Math.round(y - size / 2);
        for (let row = Math.max(0, top); row < Math.min(this.height, top + size); row++)
            for (let column = Math.max(0, left); column < Math.min(this.width, left + size); column++) this.cover[row * this.width + column]! += full;
    }

    /**
     * Paints the lines in one colour, on which the opacity grows with the logarithm of the cover: `alpha` for a single
     * line, and 1 where most lines meet. A lone line stays visible beside thousands.
     */
    paint(image: ImageData, colour: readonly [number, number, number], alpha: number): void {
        let most = full;
        for (const covered of this.cover) if (covered > most) most = covered;
        const growth = Math.max(Math.log(most / full), 1);
        const steps = 4096;
        const opacity = new Uint8ClampedArray(steps + 1);
        for (let i = 1; i <= steps; i++) {
            const lines = (i * 16) / full;
            opacity[i] = 255 * (lines < 1 ? alpha * lines : alpha + (1 - alpha) * Math.min(1, Math.log(lines) / growth));
        }
        const pixels = new Uint32Array(image.data.buffer);
        const plain = (colour[2] << 16) | (colour[1] << 8) | colour[0];
        for (let i = 0; i < this.cover.length; i++) {
            const covered = this.cover[i]! >> 4;
            pixels[i] = covered <= 0 ? 0 : ((opacity[covered > steps ? steps : covered]! << 24) | plain) >>> 0;
        }
    }

    /** How often a pixel is covered, in full lines. */
    at(x: number, y: number): number {
        return this.cover[y * this.width + x]! / full;
    }
}

/** The opacity of a single one of `count` lines. */
export function alphaOf(count: number): number {
    return Math.min(0.85, Math.max(0.12, 60 / Math.max(1, count)));
}
