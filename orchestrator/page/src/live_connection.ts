// What the server is asked, and what it tells by itself.

export interface Session {
    version: string;
    control: boolean;
    csrf: string;
}

export class Refused extends Error {
    constructor(
        readonly status: number,
        text: string,
    ) {
        super(text.trim() || `The server answered ${status}.`);
    }
}

export class Server {
    constructor(readonly session: Session) {}

    /** Returns the JSON at an address. Throws Refused, or TypeError without a connection. */
    async get<Json>(path: string): Promise<Json> {
        const response = await fetch(path);
        if (!response.ok) throw new Refused(response.status, await response.text());
        return (await response.json()) as Json;
    }
    /** Asks for a change, with a text where the address takes one. */
    async post(path: string, text?: string): Promise<void> {
        const headers = { "X-CSRF-Token": this.session.csrf, ...(text !== undefined && { "Content-Type": "text/plain; charset=utf-8" }) };
        const response = await fetch(path, { method: "POST", headers, body: text ?? null });
        if (!response.ok) throw new Refused(response.status, await response.text());
    }
}

export async function connect(): Promise<Server> {
    const response = await fetch("/api/session");
    if (!response.ok) throw new Refused(response.status, await response.text());
    return new Server((await response.json()) as Session);
}

export type State = "live" | "waiting" | "gone";

/**
 * Calls `load` when the server tells of a change, never twice at once, and at most for a tenth of the time. Listens only
 * while the page is seen: browsers open few connections to one server.
 */
export function follow(path: string, load: () => Promise<void>, tell: (state: State) => void): void {
    let source: EventSource | null = null;
    let [loading, again] = [false, false];
    const reload = async () => {
        again = true;
        if (loading) return;
        loading = true;
        while (again) {
            again = false;
            const begin = performance.now();
            try {
                await load();
                tell("live");
            } catch (error) {
                tell(error instanceof Refused && error.status === 404 ? "gone" : "waiting");
            }
            await new Promise((done) => setTimeout(done, Math.max(200, 10 * (performance.now() - begin))));
        }
        loading = false;
    };
    const listen = () => {
        source = new EventSource(path);
        source.addEventListener("changed", () => void reload());
        source.addEventListener("gone", () => {
            source?.close();
            tell("gone");
        });
        source.addEventListener("error", () => {
            tell("waiting");
            if (source?.readyState !== EventSource.CLOSED) return;  // else the browser tries again by itself
            setTimeout(() => {
                if (source?.readyState === EventSource.CLOSED && !document.hidden) listen();
            }, 5000);
        });
    };
    document.addEventListener("visibilitychange", () => {
        source?.close();
        if (!document.hidden) listen();
    });
    if (!document.hidden) listen();
}
