/* `karp-sim compare` finds what differs; see tests/sim/compare.h. */
#include "simrig.h"
#include "tests/sim/compare.h"

#include <unistd.h>

#define NODE(name, cpu, taints)                                                                    \
    "{'metadata':{'name':'" name "','labels':{'kubernetes.io/hostname':'" name                     \
    "'}},'spec':{'taints':" taints "},'status':{'allocatable':{'cpu':'" cpu                        \
    "','memory':'8Gi','pods':'10'}}}"
#define NODES "[" NODE("a", "8", "[]") "," NODE("b", "4", "[]") "]"
#define POD(cpu)                                                                                   \
    "{'metadata':{'name':'p','namespace':'default'},'spec':{'schedulerName':'default-scheduler',"  \
    "'containers':[{'name':'c','image':'x','resources':{'requests':{'cpu':'" cpu "'}}}]}}"
#define PLACE(nodes, cpu, chosen, message)                                                         \
    "{'what':'place','name':'x','nodes':" nodes                                                    \
    ",'pods':[],'services':[],'pod':" POD(cpu) ",'chosen':'" chosen "','message':'" message "'}\n"
#define HELD(name, node, priority)                                                                 \
    "{'metadata':{'name':'" name "','namespace':'default'},'spec':{'nodeName':'" node              \
    "','priorityClassName':'" priority                                                             \
    "','containers':[{'name':'c','image':'x','resources':{'requests':{'cpu':'3'}}}]},'status':{"   \
    "'phase':'Running','startTime':'2026-01-05T08:00:00Z'}}"
#define CLASS(name, value) "{'metadata':{'name':'" name "'},'value':" value "}"
/* Two nodes are full of pods of another priority each; the pod wants more than is left. */
#define ROOM(node, victims)                                                                                                                                                                                  \
    "{'what':'place','name':'x','nodes':[" NODE("a", "4", "[]") "," NODE(                                                                                                                                    \
        "b", "4",                                                                                                                                                                                            \
        "[]") "],'pods':[" HELD("p1", "a",                                                                                                                                                                   \
                                "low") "," HELD("p2", "b",                                                                                                                                                   \
                                                "mid") "],'classes':[" CLASS("low",                                                                                                                          \
                                                                             "1") "," CLASS("mid",                                                                                                           \
                                                                                            "5") "," CLASS("top",                                                                                            \
                                                                                                           "9") "],'services':[],'budgets':[],'pod':{'metadata':{'name':'p','namespace':'default'},'spec':{" \
                                                                                                                "'schedulerName':'default-scheduler','priorityClassName':'top','containers':[{'name':'c',"   \
                                                                                                                "'image':'x','resources':{'requests':{'cpu':'2'}}}]}},'nominated':'" node                    \
                                                                                                                "','victims':[" victims                                                                      \
                                                                                                                "]}\n"
#define MEMBER(name, cost)                                                                         \
    "{'metadata':{'name':'" name "','uid':'" name                                                  \
    "','annotations':{'controller.kubernetes.io/pod-deletion-cost':'" cost                         \
    "'}},'spec':{'nodeName':'n'},'status':{'phase':'Running'}}"
#define RANK(gone)                                                                                 \
    "{'what':'rank','name':'x','now':'2026-01-05T09:00:00Z','pods':[" MEMBER(                      \
        "low", "-5") "," MEMBER("high", "5") "],'gone':['" gone "']}\n"
#define TOO_MUCH                                                                                   \
    "0/2 nodes are available: 2 Insufficient cpu. no new claims to deallocate, preemption: 0/2 "   \
    "nodes are available: 2 Preemption is not helpful for scheduling."

struct row {
    const char *what, *text;
    int status;
};

static const struct row rows[] = {
    {"the better node", PLACE(NODES, "1", "a", ""), 0},
    {"the worse node", PLACE(NODES, "1", "b", ""), 1},
    {"nowhere, and why", PLACE(NODES, "9", "", TOO_MUCH), 0},
    {"nowhere, for another reason", PLACE(NODES, "9", "", "0/2 nodes are available"), 1},
    {"nowhere, though it fits", PLACE(NODES, "1", "", TOO_MUCH), 1},
    {"somewhere, though it does not fit", PLACE(NODES, "9", "a", ""), 1},
    {"the least of the pods makes room", ROOM("a", "'p1'"), 0},
    {"another makes room", ROOM("b", "'p2'"), 1},
    {"one more than needed makes room", ROOM("a", "'p1','p2'"), 1},
    {"the cheaper pod", RANK("low"), 0},
    {"the dearer pod", RANK("high"), 1},
    {"one of two differs", RANK("low") RANK("high"), 1},
    {"nothing", "", 0},
    {"no record", "{'what':'else'}\n", 2},
    {"no JSON", "{\n", 2},
};

START_TEST(tells)
{
    const struct row *row = &rows[_i];
    char file[64];
    unit_path(file, sizeof(file), "compare");
    int fd = mkstemp(file);
    AUTO_FREE char *text = xstrdup(row->text);
    for (char *p = text; *p; p++) {
        *p = *p == '\'' ? '"' : *p;
    }
    ck_assert(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
    int status = compare_main(file);
    unlink(file);
    ck_assert_msg(status == row->status, "%s: %d", row->what, status);
}
END_TEST

START_TEST(needs_its_file)
{
    ck_assert_int_eq(compare_main("/nowhere/at/all"), 2);
}
END_TEST

UNIT_MAIN("sim_compare", UNIT_CASES(tells, rows), UNIT_TEST(needs_its_file))
