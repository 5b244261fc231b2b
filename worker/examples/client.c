/* A worker in C: minimises (x - lr)^2, one trial a process. The protocol is docs/protocol.md.
 *
 *     cc -o client client.c
 *     worker: {command: [./client]}
 *
 * Messages are found by their text, which is enough for what hpo writes (no spaces, one object a line); a larger
 * client takes a JSON library. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static FILE *in, *out;
static char line[65536];

/* The next message of this type, in `line`. Others are not ours to answer. */
static void await(const char* type) {
    char wanted[64];
    snprintf(wanted, sizeof wanted, "\"type\":\"%s\"", type);
    do {
        /* The connection is closed, or hpo wants us to leave: we exit. */
        if (!fgets(line, sizeof line, in) || strstr(line, "\"type\":\"shutdown\"")) exit(0);
        if (strstr(line, "\"type\":\"stop\"")) return;
    } while (!strstr(line, wanted));
}

/* The number behind the first "name": in `line`. */
static double number(const char* name, double otherwise) {
    char wanted[64];
    snprintf(wanted, sizeof wanted, "\"%s\":", name);
    const char* found = strstr(line, wanted);
    return found ? atof(found + strlen(wanted)) : otherwise;
}

int main(void) {
    const char *endpoint = getenv("HPO_ENDPOINT"), *token = getenv("HPO_TOKEN");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (!endpoint || !token || strlen(endpoint) >= sizeof address.sun_path) {
        fprintf(stderr, "to be started by hpo\n");
        return 2;
    }
    strcpy(address.sun_path, endpoint);
    int socket_fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (connect(socket_fd, (struct sockaddr*)&address, sizeof address) != 0) {
        perror(endpoint);
        return 1;
    }
    in = fdopen(socket_fd, "r");
    out = fdopen(dup(socket_fd), "w");
    setvbuf(out, NULL, _IOLBF, 0);

    fprintf(out, "{\"type\":\"hello\",\"version\":2,\"token\":\"%s\",\"pid\":%d,\"capabilities\":[\"once\"]}\n", token,
            (int)getpid());
    await("run");
    const long trial = (long)number("trial", 0), attempt = (long)number("attempt", 0), steps = (long)number("steps", 1);
    const double lr = number("lr", 0.1);
    double x = 1;
    const char* outcome = "complete";
    fprintf(out, "{\"type\":\"started\",\"trial\":%ld,\"attempt\":%ld,\"from_step\":0}\n", trial, attempt);
    for (long step = 1; step <= steps; ++step) {
        x -= lr * 2 * (x - lr);
        fprintf(out,
                "{\"type\":\"report\",\"trial\":%ld,\"attempt\":%ld,\"step\":%ld,\"metrics\":{\"val_loss\":%.17g}}\n",
                trial, attempt, step, (x - lr) * (x - lr));
        await("decision");
        if (strstr(line, "\"type\":\"stop\"") || strstr(line, "\"action\":\"stop\"")) outcome = "stopped";
        if (strstr(line, "\"action\":\"pause\"")) outcome = "paused";
        if (strcmp(outcome, "complete") != 0) break;
    }
    fprintf(out, "{\"type\":\"finished\",\"trial\":%ld,\"attempt\":%ld,\"outcome\":\"%s\"}\n", trial, attempt, outcome);
    return 0;
}
