#include "handle.h"

#include "common/base/alloc.h"

void handles_init(struct handles *h)
{
    memset(h, 0, sizeof(*h));
    ARRAY_GROW(h->slots, h->n_slots, h->cap_slots);
    h->slots[h->n_slots++] = (struct handle_slot){NULL, 0, 0};
}

void handles_done(struct handles *h)
{
    free(h->slots);
    memset(h, 0, sizeof(*h));
}

uint64_t handles_take(struct handles *h, void *thing)
{
    uint32_t i = h->free_slot;
    if (i) {
        h->free_slot = h->slots[i].next_free;
    } else {
        ARRAY_GROW(h->slots, h->n_slots, h->cap_slots);
        i = h->n_slots++;
        h->slots[i].generation = 0;
    }
    h->slots[i].thing = thing;
    h->n++;
    return (uint64_t)h->slots[i].generation << 32 | i;
}

void *handles_find(const struct handles *h, uint64_t handle)
{
    uint32_t i = (uint32_t)handle;
    if (i == 0 || i >= h->n_slots || h->slots[i].generation != (uint32_t)(handle >> 32)) {
        return NULL;
    }
    return h->slots[i].thing;
}

void handles_give(struct handles *h, uint64_t handle)
{
    uint32_t i = (uint32_t)handle;
    h->slots[i].thing = NULL;
    h->slots[i].generation++;
    h->slots[i].next_free = h->free_slot;
    h->free_slot = i;
    h->n--;
}

void *handles_next(const struct handles *h, uint32_t *from)
{
    while (++*from < h->n_slots) {
        if (h->slots[*from].thing) {
            return h->slots[*from].thing;
        }
    }
    return NULL;
}
