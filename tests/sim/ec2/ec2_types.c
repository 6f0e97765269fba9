/* ec2_types.c - instance types, where they are offered, what spot costs. */
#include "ec2_priv.h"

/* ---- DescribeInstanceTypes ------------------------------------------------------------------ */

static const char *wire_arch(const struct ec2_fact *f)
{
    return str_eq(f->arch, "arm64") ? "arm64" : "x86_64";
}

static const char *type_attr(const void *obj, const char *name, size_t i)
{
    const struct ec2_fact *f = obj;
    if (str_eq(name, "supported-usage-class")) {
        const char *classes[3] = {NULL, NULL, NULL};
        size_t n = 0;
        if (f->on_demand) {
            classes[n++] = "on-demand";
        }
        if (f->spot) {
            classes[n++] = "spot";
        }
        return i < 2 ? classes[i] : NULL;
    }
    if (i > 0) {
        return NULL;
    }
    return str_eq(name, "instance-type")                           ? f->name
           : str_eq(name, "processor-info.supported-architecture") ? wire_arch(f)
           : str_eq(name, "supported-virtualization-type")         ? "hvm"
           : str_eq(name, "bare-metal") ? f->bare_metal ? "true" : "false"
           : str_eq(name, "hypervisor") ? f->hypervisor
                                        : NULL;
}

static void write_list(struct buf *b, const char *tag, const char *first, const char *second)
{
    put_open(b, tag);
    put_str(b, "item", first);
    put_str(b, "item", second);
    put_close(b, tag);
}

static void write_machine(struct buf *b, const struct ec2_fact *f)
{
    put_open(b, "processorInfo");
    write_list(b, "supportedArchitectures", wire_arch(f), NULL);
    if (f->clock_mhz > 0) {
        buf_printf(b, "<sustainedClockSpeedInGhz>%d.%03d</sustainedClockSpeedInGhz>",
                   f->clock_mhz / 1000, f->clock_mhz % 1000);
    }
    put_str(b, "manufacturer", f->cpu_manufacturer);
    put_close(b, "processorInfo");
    put_open(b, "vCpuInfo");
    put_i64(b, "defaultVCpus", f->vcpus);
    put_close(b, "vCpuInfo");
    put_open(b, "memoryInfo");
    put_i64(b, "sizeInMiB", f->mem_mib);
    put_close(b, "memoryInfo");
    if (f->nvme_gb > 0) {
        put_open(b, "instanceStorageInfo");
        put_i64(b, "totalSizeInGB", f->nvme_gb);
        put_str(b, "nvmeSupport", "required");
        put_close(b, "instanceStorageInfo");
    }
    put_open(b, "ebsInfo");
    put_str(b, "ebsOptimizedSupport", f->ebs_mbps > 0 ? "default" : "unsupported");
    if (f->ebs_mbps > 0) {
        put_open(b, "ebsOptimizedInfo");
        put_i64(b, "maximumBandwidthInMbps", f->ebs_mbps);
        put_close(b, "ebsOptimizedInfo");
    }
    put_close(b, "ebsInfo");
}

static void write_network(struct buf *b, const struct ec2_fact *f)
{
    put_open(b, "networkInfo");
    put_i64(b, "maximumNetworkCards", f->cards);
    put_i64(b, "defaultNetworkCardIndex", 0);
    put_open(b, "networkCards");
    put_open(b, "item");
    put_i64(b, "networkCardIndex", 0);
    put_i64(b, "maximumNetworkInterfaces", f->enis);
    put_close(b, "item");
    put_close(b, "networkCards");
    put_i64(b, "ipv4AddressesPerInterface", f->ips_per_eni);
    put_bool(b, "efaSupported", f->efa_max > 0);
    if (f->efa_max > 0) {
        put_open(b, "efaInfo");
        put_i64(b, "maximumEfaInterfaces", f->efa_max);
        put_close(b, "efaInfo");
    }
    put_str(b, "enaSupport", f->ena ? "required" : "unsupported");
    put_bool(b, "encryptionInTransitSupported", f->encryption_in_transit);
    put_close(b, "networkInfo");
}

static void write_gpus(struct buf *b, const struct ec2_fact *f)
{
    if (f->gpu_count < 0) {
        return;
    }
    put_open(b, "gpuInfo");
    put_open(b, "gpus");
    put_open(b, "item");
    put_str(b, "name", f->gpu_name);
    put_str(b, "manufacturer", f->gpu_manufacturer);
    put_i64(b, "count", f->gpu_count);
    if (f->gpu_mem_mib > 0) {
        put_open(b, "memoryInfo");
        put_i64(b, "sizeInMiB", f->gpu_mem_mib);
        put_close(b, "memoryInfo");
    }
    put_close(b, "item");
    put_close(b, "gpus");
    put_close(b, "gpuInfo");
}

static void write_type(struct buf *b, const struct ec2_fact *f)
{
    put_open(b, "item");
    put_str(b, "instanceType", f->name);
    write_list(b, "supportedUsageClasses", f->on_demand ? "on-demand" : NULL,
               f->spot ? "spot" : NULL);
    write_list(b, "supportedVirtualizationTypes", "hvm", NULL);
    put_bool(b, "bareMetal", f->bare_metal);
    put_str(b, "hypervisor", f->hypervisor && *f->hypervisor ? f->hypervisor : NULL);
    write_machine(b, f);
    write_network(b, f);
    write_gpus(b, f);
    put_str(b, "nitroEnclavesSupport", f->nitro_enclaves ? "supported" : "unsupported");
    put_close(b, "item");
}

static bool among(const char *const *list, size_t n, const char *s)
{
    for (size_t i = 0; i < n; i++) {
        if (str_eq(list[i], s)) {
            return true;
        }
    }
    return n == 0;
}

static bool types_exist(struct simec2_call *c, const char *const *types)
{
    for (size_t i = 0; types[i]; i++) {
        if (ec2_find_fact(types[i]) < 0) {
            simec2_fail(c, "InvalidInstanceType",
                        "The following supplied instance types do not exist: [%s]", types[i]);
            return false;
        }
    }
    return true;
}

void simec2_describe_types(struct simec2_call *c)
{
    size_t n_types, shown = 0;
    struct simec2_filters f;
    struct simec2_page page;
    const char *const *types = simec2_param_list(c, &n_types, "InstanceType");
    if (!simec2_filters(c,
                        "instance-type processor-info.supported-architecture bare-metal "
                        "supported-virtualization-type supported-usage-class hypervisor",
                        &f) ||
        !simec2_page(c, 5, 100, &page) || !types_exist(c, types)) {
        return;
    }
    simec2_xml_begin(c);
    put_open(&c->out, "instanceTypeSet");
    uint64_t i = page.from;
    for (; i < ec2_facts_n && shown < page.limit; i++) {
        const struct ec2_fact *fact = &ec2_facts[i];
        if (c->e->offers[i].wanted && among(types, n_types, fact->name) &&
            simec2_filter_match(&f, NULL, type_attr, fact)) {
            write_type(&c->out, fact);
            shown++;
        }
    }
    put_close(&c->out, "instanceTypeSet");
    put_str(&c->out, "nextToken", i < ec2_facts_n ? simec2_page_token(c, i) : NULL);
    simec2_xml_end(c);
}

/* ---- DescribeInstanceTypeOfferings ---------------------------------------------------------- */

struct offering {
    const char *type, *location;
};

static const char *offering_attr(const void *obj, const char *name, size_t i)
{
    const struct offering *o = obj;
    return i > 0 ? NULL : str_eq(name, "instance-type") ? o->type : o->location;
}

static bool any_price(const struct simec2 *e, uint32_t fact, uint32_t zone)
{
    return simec2_offered(e, (int)fact, zone, false) || simec2_offered(e, (int)fact, zone, true);
}

static bool location_type(struct simec2_call *c, bool *ret_id)
{
    const char *kind = simec2_param(c, "LocationType");
    *ret_id = str_eq(kind, "availability-zone-id");
    if (!*ret_id && !str_eq(kind, "availability-zone")) {
        simec2_fail(c, "InvalidParameterValue", "LocationType %s is not served here",
                    kind ? kind : "region");
        return false;
    }
    return true;
}

void simec2_describe_offerings(struct simec2_call *c)
{
    struct simec2 *e = c->e;
    struct simec2_filters f;
    struct simec2_page page;
    bool by_id;
    size_t shown = 0;
    if (!location_type(c, &by_id) || !simec2_filters(c, "instance-type location", &f) ||
        !simec2_page(c, 5, 1000, &page)) {
        return;
    }
    uint64_t i = page.from, n = (uint64_t)ec2_facts_n * e->n_zones;
    simec2_xml_begin(c);
    put_open(&c->out, "instanceTypeOfferingSet");
    for (; i < n && shown < page.limit; i++) {
        uint32_t fact = (uint32_t)(i / e->n_zones), zone = (uint32_t)(i % e->n_zones);
        struct offering o = {ec2_facts[fact].name,
                             by_id ? e->subnets[zone].zone_id : e->zones[zone]};
        if (any_price(e, fact, zone) && simec2_filter_match(&f, NULL, offering_attr, &o)) {
            put_open(&c->out, "item");
            put_str(&c->out, "instanceType", o.type);
            put_str(&c->out, "locationType", by_id ? "availability-zone-id" : "availability-zone");
            put_str(&c->out, "location", o.location);
            put_close(&c->out, "item");
            shown++;
        }
    }
    put_close(&c->out, "instanceTypeOfferingSet");
    put_str(&c->out, "nextToken", i < n ? simec2_page_token(c, i) : NULL);
    simec2_xml_end(c);
}

/* ---- DescribeSpotPriceHistory --------------------------------------------------------------- */

static const char *spot_attr(const void *obj, const char *name, size_t i)
{
    const struct offering *o = obj;
    return i > 0                                 ? NULL
           : str_eq(name, "instance-type")       ? o->type
           : str_eq(name, "availability-zone")   ? o->location
           : str_eq(name, "product-description") ? "Linux/UNIX"
                                                 : NULL;
}

static bool wants_linux(const char *const *products, size_t n)
{
    return among(products, n, "Linux/UNIX") || among(products, n, "Linux/UNIX (Amazon VPC)");
}

static void write_spot_price(struct simec2_call *c, const struct offering *o, int64_t price)
{
    char dollars[40];
    struct buf *b = &c->out;
    put_open(b, "item");
    put_str(b, "instanceType", o->type);
    put_str(b, "productDescription", "Linux/UNIX");
    put_str(b, "spotPrice", simec2_dollars(price, 10, dollars));
    put_time(b, "timestamp", c->e->prices_since_ns);
    put_str(b, "availabilityZone", o->location);
    put_close(b, "item");
}

void simec2_describe_spot_prices(struct simec2_call *c)
{
    struct simec2 *e = c->e;
    struct simec2_filters f;
    struct simec2_page page;
    size_t n_types, n_products, shown = 0;
    const char *const *types = simec2_param_list(c, &n_types, "InstanceType");
    const char *const *products = simec2_param_list(c, &n_products, "ProductDescription");
    const char *zone_wanted = simec2_param(c, "AvailabilityZone");
    if (!simec2_filters(c, "instance-type availability-zone product-description", &f) ||
        !simec2_page(c, 1, 2000, &page)) {
        return;
    }
    uint64_t i = page.from, n = (uint64_t)ec2_facts_n * e->n_zones;
    n = wants_linux(products, n_products) ? n : 0;
    simec2_xml_begin(c);
    put_open(&c->out, "spotPriceHistorySet");
    for (; i < n && shown < page.limit; i++) {
        uint32_t fact = (uint32_t)(i / e->n_zones), zone = (uint32_t)(i % e->n_zones);
        struct offering o = {ec2_facts[fact].name, e->zones[zone]};
        int64_t price = simec2_offer_price(e, (int)fact, zone, true);
        if (price > 0 && among(types, n_types, o.type) &&
            (!zone_wanted || str_eq(zone_wanted, o.location)) &&
            simec2_filter_match(&f, NULL, spot_attr, &o)) {
            write_spot_price(c, &o, price);
            shown++;
        }
    }
    put_close(&c->out, "spotPriceHistorySet");
    /* EC2 closes the last page with an empty token. */
    put_str(&c->out, "nextToken", i < n ? simec2_page_token(c, i) : "");
    simec2_xml_end(c);
}
