// The page of hpo serve: the list of studies, one of them, or a comparison, by its address.
import { connect, Refused } from "./live_connection.ts";
import { comparePage } from "./live_compare.ts";
import { listPage } from "./live_list.ts";
import { loginPage } from "./live_login.ts";
import { studyPage } from "./live_study.ts";
import { h } from "./dom.ts";

async function show(): Promise<HTMLElement[]> {
    try {
        const server = await connect();
        const [, place, name] = location.pathname.split("/");
        if (place === "study") return await studyPage(server, decodeURIComponent(name ?? ""));
        if (place === "compare") return await comparePage(server, new URLSearchParams(location.search).getAll("with"));
        return await listPage(server);
    } catch (error) {
        if (error instanceof Refused && error.status === 401) return loginPage();
        return [h("main", {}, h("section", {}, h("h1", {}, "Not here"), h("p", {}, String((error as Error).message)), h("p", {}, h("a", { href: "/" }, "All studies"))))];
    }
}

void show().then((elements) => document.body.append(...elements));
